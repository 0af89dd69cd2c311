package ucan

import (
	"context"
	"errors"
	"strings"

	"usher/caps"
)

// audience holds the tokens made out to one principal by what they grant, so that
// a search looks at the few that can matter, however many there are. Store.mu
// guards it.
type audience struct {
	ready bool // everything stored has been added
	has   map[CID]bool
	by    map[place][]ref
}

// place is a resource in a namespace, without slashes at its end.
type place struct {
	owner DID
	path  string
}

// ref is one capability of a token.
type ref struct {
	link  *Link
	grant int
}

func (a *audience) add(l *Link) {
	r := l.resolved.Load()
	if a.has[l.cid] || r == nil || r.err != nil {
		return
	}
	a.has[l.cid] = true
	for i := range r.grants {
		g := &r.grants[i]
		p := place{g.owner, pathKey(g.path)}
		a.by[p] = append(a.by[p], ref{l, i})
	}
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

// loadAudience reads the tokens made out to aud into memory. Tokens stored while
// it reads are added by Put, because the entry is there before the scan begins.
func (s *Store) loadAudience(ctx context.Context, aud DID) error {
	s.mu.Lock()
	a := s.audiences[aud]
	if a == nil {
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

	cids, err := s.cids(ctx, keyAudience+aud.key())
	if err != nil {
		return err
	}
	links := make([]*Link, 0, len(cids))
	for _, c := range cids {
		link, err := s.Get(ctx, c)
		if errors.Is(err, ErrMissingProof) {
			continue
		}
		if err != nil {
			return err
		}
		links = append(links, link)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range links {
		a.add(l)
	}
	a.ready = true
	return nil
}
