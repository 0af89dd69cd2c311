package tools

import (
	"slices"

	"usher/caps"
	"usher/ucan"
)

// Author is who wrote something that is stored and executed later: what bounded
// the writer, and the principals as whom it was written. The zero value is nobody.
type Author struct {
	Bound
	As []ucan.DID `json:"as,omitempty"`
}

// Author is the authority as the author of what it stores.
func (a Authority) Author() Author {
	if a.lineage == nil {
		return Author{}
	}
	out := Author{Bound: a.bound}
	for i := len(a.chain) - 1; i >= 0; i-- {
		out.As = union(out.As, []ucan.DID{a.chain[i].Owner})
		if a.chain[i].Own {
			break
		}
	}
	return out
}

// And returns the authors of what both wrote.
func (a Author) And(b Author) Author { return Author{a.Bound.And(b.Bound), union(a.As, b.As)} }

// In returns what bounds a program of the author in the namespace of owner. One
// that was written as another principal may do nothing there, until its owner
// adopts it: what that principal may reach is said by tokens, and not by what its
// agents hold.
func (a Author) In(owner ucan.DID) Bound {
	if slices.ContainsFunc(a.As, func(p ucan.DID) bool { return p != owner }) {
		return a.Bound.And(Bound{Within: []Narrow{{caps.Set{}, owner}}})
	}
	return a.Bound
}

// Pinned returns the operation as what the name at, below o/, stands for by the
// word of authors: they bound each call of it as they bound the caller.
func (o *Operation) Pinned(at string, authors Bound) *Operation {
	mine := *o
	mine.reference, mine.authors, mine.bounded = at, mine.authors.And(authors), true
	return &mine
}

// Reference is what calls the operation as it was found: its path, or the name
// below o/ that is pinned to it.
func (o *Operation) Reference() string {
	if o.reference != "" {
		return o.reference
	}
	return o.path
}
