package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"usher/caps"
	"usher/ucan"
)

// node is a token as it stands among others. Everything here is for showing:
// whether it grants anything is for [ucan.Verifier] to say.
type node struct {
	*ucan.Link
	source   string
	owner    ucan.DID          // whose namespace its bare resources mean; zero where nobody can be told
	held     []caps.Capability // spelt with the owners of their resources
	narrows  []string          // what each of them has become less than; "" where nothing gives it
	parents  []*node           // what it can have been made from, what gives all of it first
	children []*node

	visited, placed bool // in the forest
	forged          bool // the signature does not verify
	notes, warnings []string
}

// forest is a set of tokens and what each was made from.
type forest struct {
	nodes   []*node // proofs before what was made from them
	bad     []token // those that have not the form of a token
	revoked []token // the revocations
	found   []*node // in the order in which they came
	byCID   map[ucan.CID]*node
	madeOut map[ucan.DID][]*node
}

// plant finds out how tokens hang together, and what is wrong with them at now.
func plant(ctx context.Context, tokens []token, now time.Time) (*forest, error) {
	f := &forest{byCID: map[ucan.CID]*node{}, madeOut: map[ucan.DID][]*node{}}
	var links []*ucan.Link
	var revocations []*ucan.Revocation
	for _, t := range tokens {
		switch {
		case t.revocation != nil:
			f.revoked = append(f.revoked, t)
			revocations = append(revocations, t.revocation)
		case t.link == nil:
			f.bad = append(f.bad, t)
		default:
			f.add(t.link, t.source)
			links = append(links, t.link)
		}
	}
	for _, n := range f.found {
		f.visit(n)
	}
	v, err := (&ucan.Verifier{
		Now:    func() time.Time { return now },
		Roots:  func(_, _ ucan.DID) bool { return true }, // a note says what it takes
		Limits: ucan.Limits{Proofs: maxQuery},
	}).Heed(ctx, revocations, links)
	if err != nil {
		return nil, err
	}
	for _, n := range f.nodes {
		n.judge(ctx, v)
		if len(n.parents) > 0 {
			n.parents[0].children = append(n.parents[0].children, n)
		}
	}
	return f, nil
}

func (f *forest) add(l *ucan.Link, source string) {
	for _, p := range l.Inline {
		f.add(p, "inside "+source)
	}
	if f.byCID[l.CID] != nil {
		return
	}
	n := &node{Link: l, source: source}
	f.byCID[l.CID] = n
	f.madeOut[l.Audience] = append(f.madeOut[l.Audience], n)
	f.found = append(f.found, n)
}

// visit finds the parents of a token, theirs first. A chain that leads back to
// itself proves nothing.
func (f *forest) visit(n *node) {
	if n.visited {
		return
	}
	n.visited = true
	for _, p := range f.proofs(n) {
		if f.visit(p); p.placed {
			n.parents = append(n.parents, p)
		}
	}
	switch {
	case n.Format == ucan.Native:
		n.owner = n.Subject
	case len(n.parents) > 0:
		n.owner = n.parents[0].owner
	case len(n.Proofs) == 0:
		n.owner = n.Issuer
	}
	n.hold()
	slices.SortStableFunc(n.parents, func(a, b *node) int { return a.lacks(n) - b.lacks(n) })
	n.placed = true
	f.nodes = append(f.nodes, n)
}

// proofs are the tokens that a JWT names, and what a native token, which names
// none, can have been made from.
func (f *forest) proofs(n *node) (list []*node) {
	if n.Format == ucan.JWT {
		for _, c := range n.Proofs {
			if p := f.byCID[c]; p != nil {
				list = append(list, p)
			}
		}
		return list
	}
	if n.isRoot() {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(f.madeOut[n.Issuer]), func(p *node) bool {
		return p.Format == ucan.Native && p.Subject != n.Subject
	})
}

// hold takes the capabilities of the token; those of its proofs, where it names no
// resource.
func (n *node) hold() {
	for _, c := range n.Capabilities() {
		if !n.Passes() {
			n.held = slices.AppendSeq(n.held, caps.Of(c).SeenBy("", n.owner.String()).All())
			continue
		}
		for _, p := range n.parents {
			for _, g := range p.held {
				if part, err := caps.NewCapability(g.With(), string(c.Can())); err == nil && g.Can().Covers(c.Can()) {
					n.held = append(n.held, part)
				}
			}
		}
	}
}

// lacks counts the capabilities of other that n does not give.
func (n *node) lacks(other *node) (missing int) {
	for _, c := range other.held {
		if !caps.Of(n.held...).Covers(caps.Of(c)) {
			missing++
		}
	}
	return missing
}

func (n *node) isRoot() bool {
	return n.Format == ucan.JWT && len(n.Proofs) == 0 || n.Format == ucan.Native && n.Subject == n.Issuer
}

func say(list *[]string, format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(*list, text) {
		*list = append(*list, text)
	}
}

// judge has the verifier say what is wrong with a token, and says in words what
// became of what it was made from.
func (n *node) judge(ctx context.Context, v *ucan.Verifier) {
	if err := n.Err(); err != nil {
		refused, _ := errors.AsType[*ucan.VerifyError](err)
		n.forged = errors.Is(err, ucan.ErrSignature) && refused.CID == n.CID
		say(&n.warnings, "%s", err)
	}
	if n.Conditional() {
		say(&n.notes, "carries conditions beyond its resource, so it grants less than this")
	}
	tokens := n.above(nil, maxDrawn)
	for _, c := range n.held {
		_, err := v.Authorize(ctx, ucan.Query{Caller: n.Audience, Owner: n.owner, Request: caps.NeedOn(c.Can(), c.Resource()), Tokens: tokens})
		if err != nil && !errors.Is(err, ucan.ErrPolicy) { // it is not asked with the input that a policy is about
			say(&n.warnings, "%s", err)
		}
		if by := c.Resource().DID(); n.isRoot() && by != n.Issuer.String() {
			say(&n.notes, "begins a chain for %s, so it counts where %s may speak for them (usher ucan verify --root)", by, n.Issuer)
		}
		n.narrows = append(n.narrows, n.narrowing(c))
	}
}

// above returns the token and what it can have been made from, so many levels up: a
// longer chain is refused anyway.
func (n *node) above(list []*ucan.Link, levels int) []*ucan.Link {
	if levels < 0 || slices.Contains(list, n.Link) {
		return list
	}
	list = append(list, n.Link)
	for _, p := range n.parents {
		list = p.above(list, levels-1)
	}
	return list
}

func (n *node) narrowing(c caps.Capability) string {
	for _, p := range n.parents {
		for _, from := range p.held {
			switch {
			case p.Audience != n.Issuer || !from.Covers(c):
			case from.Equal(c):
				return "passes on all of it"
			default:
				return "narrows " + from.String()
			}
		}
	}
	return ""
}
