package ucan

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"usher/caps"
)

// audience holds the tokens made out to one principal that are not revoked for
// good, by what they grant, those that end last first: a search looks at the few
// that can matter, and never at what ran out. Store.mu guards it; its lists are
// replaced whole, so that a list which was taken stays as it was.
type audience struct {
	ready  bool // everything stored has been added
	has    map[CID]bool
	by     map[place][]ref
	passes []ref // those that hand on what their proof gives, wherever that is

	revoked []*Link // some that are revoked for good, to say so
}

// maxTold bounds the revoked tokens that are kept to say so.
const maxTold = 64

// place is a resource in a namespace, without slashes at its end.
type place struct {
	owner DID
	path  string
}

// ref is one capability of a token.
type ref struct {
	link  *Link
	grant int
	exp   int64
}

func later(a, b ref) int {
	switch {
	case a.exp != b.exp:
		return int(max(-1, min(1, b.exp-a.exp)))
	default:
		return slices.Compare(a.link.CID.hash[:], b.link.CID.hash[:])
	}
}

// lists calls fn for each list that a token is in.
func (a *audience) lists(l *Link, fn func(list *[]ref, r ref)) {
	grants := l.resolved.Load().grants
	for i := range grants {
		g, r := &grants[i], ref{l, i, l.exp}
		if g.passes {
			fn(&a.passes, r)
			continue
		}
		p := place{g.owner, pathKey(g.path)}
		list := a.by[p]
		if fn(&list, r); len(list) == 0 {
			delete(a.by, p)
		} else {
			a.by[p] = list
		}
	}
}

func (a *audience) add(l *Link) {
	if r := l.resolved.Load(); a.has[l.CID] || r == nil || r.err != nil {
		return
	}
	a.has[l.CID] = true
	a.lists(l, func(list *[]ref, r ref) {
		if !a.ready {
			*list = append(*list, r) // nobody has taken it, and it is sorted at the end
			return
		}
		i, _ := slices.BinarySearchFunc(*list, r, later)
		*list = slices.Insert(slices.Clone(*list), i, r)
	})
}

func (a *audience) drop(l *Link) {
	if !a.has[l.CID] {
		return
	}
	delete(a.has, l.CID)
	a.tell(l)
	a.lists(l, func(list *[]ref, _ ref) {
		*list = slices.DeleteFunc(slices.Clone(*list), func(r ref) bool { return r.link.CID == l.CID })
	})
}

func (a *audience) tell(l *Link) {
	if len(a.revoked) < maxTold {
		a.revoked = append(a.revoked, l)
	}
}

func (a *audience) sort() {
	for _, list := range a.by {
		slices.SortFunc(list, later)
	}
	slices.SortFunc(a.passes, later)
	a.ready = true
}

// pathKey is the text of a path; its prefixes up to a slash are the keys of the
// paths above it.
func pathKey(path caps.Resource) string { return strings.TrimRight(path.String(), "/") }

// above returns the key one segment up; ok is false at the root.
func above(key string) (up string, ok bool) {
	if key == "" {
		return "", false
	}
	i := strings.LastIndexByte(key, '/')
	if i < 0 {
		return "", true
	}
	return strings.TrimRight(key[:i], "/"), true
}

// refs appends the lists of what is made out to a on a resource and on those above
// it.
func (s *Store) refs(a *audience, p place, lists [][]ref) [][]ref {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for more := true; more; p.path, more = above(p.path) {
		if list := a.by[p]; len(list) > 0 {
			lists = append(lists, list)
		}
	}
	if len(a.passes) > 0 {
		lists = append(lists, a.passes)
	}
	return lists
}

// tellRevoked returns a revoked token that would have covered what is asked, if one
// is remembered.
func (s *Store) tellRevoked(a *audience, child *grant) *Link {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, l := range a.revoked {
		if slices.ContainsFunc(l.resolved.Load().grants, func(g grant) bool { return g.covers(child) }) {
			return l
		}
	}
	return nil
}

// audience returns what is made out to a principal, from memory, or else from the
// disk. Tokens stored while it reads are added by Put, because the entry is there
// before the scan begins.
func (s *Store) audience(ctx context.Context, aud DID) (*audience, error) {
	s.mu.RLock()
	a := s.audiences[aud]
	ready := a != nil && a.ready
	s.mu.RUnlock()
	if ready {
		return a, nil
	}
	s.mu.Lock()
	if a = s.audiences[aud]; a == nil {
		if len(s.audiences) >= s.maxAudiences {
			for d := range s.audiences {
				delete(s.audiences, d)
				break
			}
		}
		a = &audience{has: map[CID]bool{}, by: map[place][]ref{}}
		s.audiences[aud] = a
	}
	s.mu.Unlock()

	links, err := s.read(ctx, keyAudience+aud.key(), math.MaxInt)
	if err != nil {
		return nil, err
	}
	revoked, err := s.read(ctx, keyRetired+aud.key(), maxTold)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.ready {
		return a, nil
	}
	for _, l := range append(links, revoked...) {
		if s.dead(l) {
			a.tell(l)
		} else {
			a.add(l)
		}
	}
	a.sort()
	return a, nil
}

// read reads the tokens whose CIDs end the keys below prefix, at most so many.
func (s *Store) read(ctx context.Context, prefix string, most int) ([]*Link, error) {
	var links []*Link
	cids, err := s.cids(ctx, prefix)
	for _, c := range cids[:min(most, len(cids))] {
		link, err := s.Get(ctx, c)
		if errors.Is(err, ErrMissingProof) {
			continue // swept since
		}
		if err != nil {
			return nil, err
		}
		links = append(links, link)
	}
	return links, err
}

// dead reports whether a token is revoked for good, whatever chain it stands in:
// by its issuer, or by the owner of all that it grants. s.mu is held.
func (s *Store) dead(l *Link) bool {
	return slices.ContainsFunc(s.revoked[l.CID], l.endsBy)
}

// endsBy reports whether a revocation by d ends the token in every chain.
func (l *Link) endsBy(d DID) bool {
	if d == l.Issuer || d == l.Subject {
		return true
	}
	r := l.resolved.Load()
	return r != nil && len(r.grants) > 0 && !slices.ContainsFunc(r.grants, func(g grant) bool { return g.owner != d })
}
