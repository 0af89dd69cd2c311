package ucan

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"usher/caps"
)

// audience holds the tokens made out to one principal by what they grant, those
// that end last first: a search looks at the few that can matter, and never at what
// ran out. It never changes: a revocation has it read again, and a new token puts
// another in its place.
type audience struct {
	// by is nil while the audience is read. Below the zero place are those that hand
	// on what their proof gives, wherever that is.
	by      map[place][]ref
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
	step
	exp int64
}

func later(a, b ref) int {
	return cmp.Or(cmp.Compare(b.exp, a.exp), slices.Compare(a.link.CID.hash[:], b.link.CID.hash[:]))
}

// pathKey is the text of a path; its prefixes up to a slash are the keys of the
// paths above it.
func pathKey(path caps.Resource) string { return strings.TrimRight(path.String(), "/") }

// on appends the lists of what is made out to a on a resource and on those above it.
func (a *audience) on(p place, lists [][]ref) [][]ref {
	for {
		if list := a.by[p]; len(list) > 0 {
			lists = append(lists, list)
		}
		if p.path == "" {
			break
		}
		p.path = strings.TrimRight(p.path[:max(0, strings.LastIndexByte(p.path, '/'))], "/")
	}
	if list := a.by[place{}]; len(list) > 0 {
		lists = append(lists, list)
	}
	return lists
}

// all lists what an audience holds.
func (a *audience) all() (list []ref) {
	for _, refs := range a.by {
		list = append(list, refs...)
	}
	return list
}

// deadCover returns a revoked token that would have covered what is asked, if one
// is remembered.
func (a *audience) deadCover(child *grant) *Link {
	for _, l := range a.revoked {
		if slices.ContainsFunc(l.resolved.Load().grants, func(g grant) bool { return g.covers(child) }) {
			return l
		}
	}
	return nil
}

// audience returns what is made out to a principal, from memory, or else from the
// disk.
func (s *Store) audience(ctx context.Context, aud DID) (*audience, error) {
	s.mu.RLock()
	a := s.audiences[aud]
	s.mu.RUnlock()
	if a != nil && a.by != nil {
		return a, nil
	}
	return s.readAudience(ctx, aud)
}

func (s *Store) readAudience(ctx context.Context, aud DID) (*audience, error) {
	reading := &audience{} // whatever changes meanwhile takes it out again
	s.mu.Lock()
	remember(s.audiences, s.maxAudiences, aud, reading)
	s.mu.Unlock()

	a := &audience{by: map[place][]ref{}}
	for l, err := range s.ByAudience(ctx, aud) {
		switch {
		case err != nil:
			return nil, err
		case !s.dead(l):
			a.add(l)
		case len(a.revoked) < maxTold:
			a.revoked = append(a.revoked, l)
		}
	}
	for _, list := range a.by {
		slices.SortFunc(list, later)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.audiences[aud] == reading {
		s.audiences[aud] = a
	}
	return a, nil
}

func (a *audience) add(l *Link) {
	for i, g := range l.resolved.Load().grants {
		p := place{g.owner, pathKey(g.path)}
		if g.passes {
			p = place{}
		}
		a.by[p] = append(a.by[p], ref{step{l, i}, l.exp})
	}
}

// with returns the audience with a token more.
func (a *audience) with(l *Link) *audience {
	if slices.ContainsFunc(a.all(), func(r ref) bool { return r.link.CID == l.CID }) {
		return a
	}
	lone := &audience{by: map[place][]ref{}}
	lone.add(l)
	more := &audience{by: maps.Clone(a.by), revoked: a.revoked}
	for p, refs := range lone.by {
		i, _ := slices.BinarySearchFunc(more.by[p], refs[0], later)
		more.by[p] = slices.Insert(slices.Clone(more.by[p]), i, refs...)
	}
	return more
}

// dead reports whether a token is revoked for good, whatever chain it stands in:
// by its issuer, or by the owner of all that it grants.
func (s *Store) dead(l *Link) bool { return slices.ContainsFunc(s.revokersOf(l.CID), l.endsBy) }

// endsBy reports whether a revocation by d ends the token in every chain.
func (l *Link) endsBy(d DID) bool {
	if d == l.Issuer || d == l.Subject {
		return true
	}
	grants := l.resolved.Load().grants
	return len(grants) > 0 && !slices.ContainsFunc(grants, func(g grant) bool { return g.owner != d })
}
