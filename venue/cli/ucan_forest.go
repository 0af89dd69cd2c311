package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"usher/caps"
	"usher/tools/delegation"
	"usher/ucan"
)

// node is a token as it stands among others. Everything here is for showing:
// whether it grants anything is for [ucan.Verifier] to say.
type node struct {
	tokenInspection
	link     *ucan.Link
	owner    ucan.DID          // whose namespace its bare resources mean; zero where nobody can be told
	held     []caps.Capability // spelt with the owners of their resources
	parents  []*node           // what it can have been made from, what gives all of it first
	children []*node

	visited, placed bool  // in the forest
	reached         *node // see above
}

// forest is a set of tokens and what each was made from.
type forest struct {
	nodes   []*node           // proofs before what was made from them
	bad     []delegation.Item // those that have not the form of a token
	revoked []delegation.Item // the revocations
	found   []*node           // in the order in which they came
	byCID   map[ucan.CID]*node
	madeOut map[ucan.DID][]*node
}

// maxInspected is how many tokens are shown, with those inside others: what each can have been
// made from grows with the square of their number.
const maxInspected = 1024

// plant finds out how tokens hang together, and what is wrong with them.
func plant(ctx context.Context, items []delegation.Item, now func() time.Time) (*forest, error) {
	f := &forest{byCID: map[ucan.CID]*node{}, madeOut: map[ucan.DID][]*node{}}
	var links []*ucan.Link
	var revocations []*ucan.Revocation
	for _, i := range items {
		switch {
		case i.Revocation != nil:
			f.revoked = append(f.revoked, i)
			revocations = append(revocations, i.Revocation)
		case i.Link == nil:
			f.bad = append(f.bad, i)
		default:
			f.add(i.Link, i.Source)
			links = append(links, i.Link)
		}
	}
	if len(f.found) > maxInspected {
		return nil, misusef("these are %d tokens, and %d at most are drawn: give the chain that you ask about", len(f.found), maxInspected)
	}
	for _, n := range f.found {
		f.visit(n)
	}
	v, err := (&ucan.Verifier{
		Now:    now,
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
	n := &node{link: l, tokenInspection: tokenInspection{
		CID: l.CID, Source: source, Format: l.Format, Issuer: l.Issuer, Audience: l.Audience, Subject: l.Subject,
		Root:   l.Format == ucan.JWT && len(l.Proofs) == 0 || l.Format == ucan.Native && l.Subject == l.Issuer,
		Proofs: append([]ucan.CID{}, l.Proofs...), Capabilities: []capInspection{}, NotBefore: l.NotBefore(), Expires: l.Expires(),
		Signature: "valid", Warnings: []string{},
	}}
	f.byCID[l.CID] = n
	f.madeOut[l.Audience] = append(f.madeOut[l.Audience], n)
	f.found = append(f.found, n)
}

// visit finds the parents of a token, theirs first: those that a JWT names, and what
// a native token, which names none, can have been made from. A chain that leads back
// to itself proves nothing.
func (f *forest) visit(n *node) {
	if n.visited {
		return
	}
	n.visited = true
	var from []*node
	switch {
	case n.Format == ucan.JWT:
		for _, c := range n.Proofs {
			if p := f.byCID[c]; p != nil {
				from = append(from, p)
			}
		}
	case !n.Root:
		for _, p := range f.madeOut[n.Issuer] {
			if p.Format == ucan.JWT || p.Subject == n.Subject {
				from = append(from, p)
			}
		}
	}
	for _, p := range from {
		if f.visit(p); p.placed {
			n.parents = append(n.parents, p)
		}
	}
	switch {
	case n.Format == ucan.Native:
		n.owner = n.Subject
	case len(n.parents) > 0:
		n.owner = n.parents[0].owner
	case n.Root:
		n.owner = n.Issuer
	}
	n.hold()
	givesAll := func(p *node) bool { return caps.Of(p.held...).Covers(caps.Of(n.held...)) }
	if i := slices.IndexFunc(n.parents, givesAll); i > 0 {
		n.parents[0], n.parents[i] = n.parents[i], n.parents[0]
	}
	if n.Format == ucan.Native {
		for _, p := range n.parents {
			n.Proofs = append(n.Proofs, p.CID)
		}
	}
	n.placed = true
	f.nodes = append(f.nodes, n)
}

// maxHeld is how many capabilities are shown of a token that names no resource: its
// proofs, and theirs, may be any number.
const maxHeld = 64

// hold takes the capabilities of the token; those of its proofs, where it names no
// resource.
func (n *node) hold() {
	for _, c := range n.link.Capabilities() {
		if !n.link.Passes() {
			n.held = slices.AppendSeq(n.held, caps.Of(c).AsSeenBy("", n.owner.String()).All())
			continue
		}
		for _, p := range n.parents {
			n.pass(p, c.Can())
		}
	}
}

// pass takes what a proof gives, each once.
func (n *node) pass(p *node, can caps.Ability) {
	for _, g := range p.held {
		part, err := caps.NewCapability(g.With(), string(can))
		if err != nil || !g.Can().Covers(can) || slices.ContainsFunc(n.held, part.Equal) {
			continue
		}
		if len(n.held) == maxHeld {
			say(&n.Notes, "only %d of its capabilities are shown", maxHeld)
			return
		}
		n.held = append(n.held, part)
	}
}

// judge has the verifier say what is wrong with a token, and says in words what
// became of what it was made from.
func (n *node) judge(ctx context.Context, v *ucan.Verifier) {
	if err := n.link.Err(); err != nil {
		if refused, _ := errors.AsType[*ucan.VerifyError](err); errors.Is(err, ucan.ErrSignature) && refused.CID == n.CID {
			n.Signature = "invalid"
		}
		say(&n.Warnings, "%s", err)
	}
	if n.Policy = n.link.Policy(); len(n.Policy) > 0 {
		say(&n.Notes, "only when %s", n.Policy)
	}
	tokens := n.above(n, nil, maxDrawn)
	for _, c := range n.held {
		_, err := v.Authorize(ctx, ucan.Query{Caller: n.Audience, Owner: n.owner, Request: caps.NeedOn(c.Can(), c.Resource()), Tokens: tokens})
		if err != nil && !errors.Is(err, ucan.ErrPolicy) { // it is not asked with the input that a policy is about
			say(&n.Warnings, "%s", err)
		}
		if by := c.Resource().DID(); n.Root && by != n.Issuer.String() {
			say(&n.Notes, "begins a chain for %s, so it counts where %s may speak for them (usher ucan verify --root)", by, n.Issuer)
		}
		n.Capabilities = append(n.Capabilities, capInspection{c.With(), c.Can(), n.derivation(c)})
	}
}

func say(list *[]string, format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(*list, text) {
		*list = append(*list, text)
	}
}

// above returns the list with the token and what it can have been made from, so many levels up,
// on behalf of the one below them all: a longer chain is refused anyway.
func (n *node) above(of *node, list []*ucan.Link, levels int) []*ucan.Link {
	if levels < 0 || n.reached == of {
		return list
	}
	n.reached = of
	list = append(list, n.link)
	for _, p := range n.parents {
		list = p.above(of, list, levels-1)
	}
	return list
}

// derivation says what a capability has become less than; "" where nothing gives it.
func (n *node) derivation(c caps.Capability) string {
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
