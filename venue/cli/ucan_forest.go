package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"usher/caps"
	"usher/ucan"
)

// node is a token as it stands among others. Everything here is for showing:
// whether it grants anything is for [ucan.Verifier] to say.
type node struct {
	*ucan.Link
	source string
	held   []claim

	parents, children []*node
	bareOwner         ucan.DID // whose namespace bare resources of a JWT mean
	state             int      // unresolved, resolving, resolved
	forged            bool     // the signature does not verify
	notes, warnings   []string
}

const (
	unresolved = iota
	resolving
	resolved
)

// claim is one capability of a token and what it was made from.
type claim struct {
	caps.Capability
	owner ucan.DID // zero where nobody can be told
	from  *claim   // of a parent; nil for a root, and where none covers it
	by    *node    // the parent
}

func (c *claim) path() caps.Resource { return c.Resource().In(c.owner.String()) }

func (c *claim) coversResource(d *claim) bool {
	return c.owner == d.owner && !c.owner.IsZero() && c.path().Covers(d.path())
}

// forest is a set of tokens and what each was made from.
type forest struct {
	nodes   []*node // in the order in which they came, proofs before what carries them
	bad     []token // those that have not the form of a token
	byCID   map[ucan.CID]*node
	madeOut map[ucan.DID][]*node
	now     time.Time
	order   []*node // proofs before what was made from them
}

// plant finds out how tokens hang together, and what is wrong with them at now.
func plant(tokens []token, now time.Time) *forest {
	f := &forest{byCID: map[ucan.CID]*node{}, madeOut: map[ucan.DID][]*node{}, now: now}
	for _, t := range tokens {
		if t.link == nil {
			f.bad = append(f.bad, t)
		} else {
			f.add(t.link, t.source)
		}
	}
	for _, n := range f.nodes {
		f.resolve(n)
	}
	for _, n := range f.nodes {
		if len(n.parents) > 0 {
			n.parents[0].children = append(n.parents[0].children, n)
		}
	}
	return f
}

func (f *forest) add(l *ucan.Link, source string) {
	for _, p := range l.Inline {
		f.add(p, "inside "+source)
	}
	if f.byCID[l.CID] != nil {
		return
	}
	n := &node{Link: l, source: source}
	for _, c := range l.Capabilities() {
		n.held = append(n.held, claim{Capability: c})
	}
	f.byCID[l.CID] = n
	f.madeOut[l.Audience] = append(f.madeOut[l.Audience], n)
	f.nodes = append(f.nodes, n)
}

// resolve finds the parents of a token, theirs first.
func (f *forest) resolve(n *node) {
	if n.state != unresolved {
		return
	}
	n.state = resolving
	if n.Format == ucan.JWT {
		f.followProofs(n)
	} else {
		f.searchProofs(n)
	}
	n.state = resolved
	f.order = append(f.order, n)
	f.inspect(n)
}

// followProofs takes the proofs that a JWT names.
func (f *forest) followProofs(n *node) {
	for _, c := range n.Proofs {
		p := f.byCID[c]
		if p == nil {
			n.warn("broken chain: its proof %s is not among the tokens given", c)
			continue
		}
		f.resolve(p)
		n.parents = append(n.parents, p)
		if p.Audience != n.Issuer {
			n.warn("broken chain: issued by %s, but its proof %s is made out to %s", n.Issuer, p.CID, p.Audience)
		}
	}
	if len(n.Proofs) == 0 {
		n.bareOwner = n.Issuer
	}
	for i, p := range n.parents {
		if i > 0 && p.bareOwner != n.bareOwner {
			n.bareOwner = ucan.DID{}
			break
		}
		n.bareOwner = p.bareOwner
	}
	n.setOwners()
}

// setOwners tells whose namespace each resource is in.
func (n *node) setOwners() {
	for i := range n.held {
		c := &n.held[i]
		c.owner = n.bareOwner
		if d := c.Resource().DID(); d != "" {
			c.owner, _ = ucan.ParseDID(d) // zero for what is no DID: it then covers nothing
		}
	}
}

// searchProofs finds what a native token can have been made from: it names no
// proofs itself.
func (f *forest) searchProofs(n *node) {
	n.bareOwner = n.Subject
	n.setOwners()
	if n.Subject == n.Issuer {
		return
	}
	var covering, others []*node
	why := "none of the tokens given is made out to its issuer %s"
	for _, p := range f.madeOut[n.Issuer] {
		if p == n || p.state == resolving {
			continue // a chain that leads back to itself proves nothing
		}
		if p.Format == ucan.Native && p.Subject != n.Subject {
			why = "what is made out to its issuer %s is about another subject than " + n.Subject.String()
			continue
		}
		if f.resolve(p); p.coversAll(n) {
			covering = append(covering, p)
		} else {
			others = append(others, p)
		}
	}
	switch {
	case len(covering) > 0:
		n.parents = covering
		n.inherit()
	case len(others) > 0:
		n.parents = others
	default:
		n.warn("broken chain: "+why, n.Issuer)
	}
}

// inherit gives a token that names no resource those of its proofs.
func (n *node) inherit() {
	if !n.Passes() {
		return
	}
	can, held := n.held[0].Can(), []claim(nil)
	for _, p := range n.parents {
		for _, g := range p.held {
			if c, err := caps.NewCapability(g.With(), string(can)); err == nil && g.Can().Covers(can) {
				held = append(held, claim{Capability: c, owner: g.owner})
			}
		}
	}
	n.held = held
}

// coversAll reports whether n gives all that made does.
func (n *node) coversAll(made *node) bool {
	return !slices.ContainsFunc(made.held, func(c claim) bool {
		if made.Passes() {
			return !slices.ContainsFunc(n.held, func(g claim) bool { return g.Can().Covers(c.Can()) })
		}
		return n.covering(&c) == nil
	})
}

// covering returns the capability of n that covers c.
func (n *node) covering(c *claim) *claim {
	for i := range n.held {
		if g := &n.held[i]; g.coversResource(c) && g.Can().Covers(c.Can()) {
			return g
		}
	}
	return nil
}

func (n *node) isRoot() bool {
	return n.Format == ucan.JWT && len(n.Proofs) == 0 || n.Format == ucan.Native && n.Subject == n.Issuer
}

func (n *node) warn(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(n.warnings, text) {
		n.warnings = append(n.warnings, text)
	}
}

// inspect notes what is wrong with a token whose parents are known.
func (f *forest) inspect(n *node) {
	refused, _ := errors.AsType[*ucan.VerifyError](n.Err())
	if refused != nil && refused.CID != n.CID {
		refused = nil // it is said of that token
	}
	if n.forged = refused != nil && errors.Is(refused, ucan.ErrSignature); n.forged {
		n.warn("the signature does not verify: somebody changed the token, or another key signed it")
	}
	ends, begins := n.Expires(), n.NotBefore()
	switch {
	case !ends.IsZero() && f.now.After(ends):
		n.warn("expired %s ago", about(f.now.Sub(ends)))
	case f.now.Before(begins):
		n.warn("not valid yet: it begins in %s", about(begins.Sub(f.now)))
	}
	if ends.IsZero() || ends.Sub(f.now) > takenLife {
		n.warn("lives longer than a venue takes by default, %s", about(takenLife))
	}
	for _, p := range n.parents {
		if end := p.Expires(); !end.IsZero() && (ends.IsZero() || ends.After(end)) {
			n.warn("lives longer than its proof %s, which ends at %s", p.CID, stamp(end))
		}
		if n.Format == ucan.JWT && begins.Before(p.NotBefore()) {
			n.warn("begins before its proof %s, which begins at %s", p.CID, stamp(p.NotBefore()))
		}
	}
	for i := range n.held {
		n.inspectClaim(&n.held[i])
	}
	if refused != nil && len(n.warnings) == 0 {
		n.warn("refused: %s", refused)
	}
	if n.Conditional() {
		n.notes = append(n.notes, "carries conditions beyond its resource, so it grants less than this")
	}
}

// takenLife is how far in the future a token may expire where [ucan.Limits] says
// nothing else.
const takenLife = 366 * 24 * time.Hour

func (n *node) inspectClaim(c *claim) {
	if n.isRoot() {
		note := fmt.Sprintf("begins a chain for %s, so it counts where %s may speak for them (usher ucan verify --root)", c.owner, n.Issuer)
		if c.owner != n.Issuer && !slices.Contains(n.notes, note) {
			n.notes = append(n.notes, note)
		}
		return
	}
	if c.owner == n.Issuer {
		return // the owner needs no proof
	}
	part, joined := "resource", false
	for _, p := range n.parents {
		if p.Audience != n.Issuer {
			continue
		}
		joined = true
		if g := p.covering(c); g != nil {
			c.from, c.by = g, p
			return
		}
		if slices.ContainsFunc(p.held, func(g claim) bool { return g.coversResource(c) }) {
			part = "ability"
		}
	}
	switch {
	case !joined: // said already: the chain is broken
	case c.owner.IsZero():
		n.warn("%s: nobody can tell in whose namespace, since its proofs differ", c.String())
	default:
		n.warn("widened: %s is wider than its proof in the %s, so the token is refused", c.String(), part)
	}
}

// narrowing says in words what became of the capability that c was made from.
func (c *claim) narrowing() string {
	if c.from == nil {
		return ""
	}
	var parts []string
	if c.from.path() != c.path() {
		parts = append(parts, c.from.place()+" to "+c.place())
	}
	if c.from.Can() != c.Can() {
		parts = append(parts, string(c.from.Can())+" to "+string(c.Can()))
	}
	if len(parts) == 0 {
		return "passes on " + string(c.Can()) + " on " + c.place() + " whole"
	}
	return "narrows " + strings.Join(parts, ", ")
}

// place is the resource without its owner, as written.
func (c *claim) place() string {
	text := strings.TrimPrefix(strings.TrimPrefix(c.With(), c.owner.String()), "/")
	if text == "" {
		return "(any)"
	}
	return text
}
