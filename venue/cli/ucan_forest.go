package cli

import (
	"slices"
	"strings"
	"time"

	"usher/caps"
	"usher/ucan"
)

// node is a token as it stands among others. Everything here is for showing:
// whether it grants anything is for [ucan.Verifier] to say.
type node struct {
	cid              ucan.CID
	source           string
	format           ucan.Format
	issuer, audience ucan.DID
	subject          ucan.DID // native only
	held             []claim
	notBefore, ends  time.Time // zero for none
	eternal          bool
	proofs           []ucan.CID // JWT only
	signed           bool       // the signature verifies
	passes           bool       // it names no resource: it hands on that of its proof

	parents, children []*node
	bareOwner         ucan.DID // whose namespace bare resources of a JWT mean
	state             int      // unresolved, resolving, resolved
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

func nodeOf(l *ucan.Link, source string) *node {
	n := &node{
		cid: l.CID(), source: source, format: l.Format(), issuer: l.Issuer(), audience: l.Audience(), subject: l.Subject(),
		proofs: l.Proofs(), signed: true, passes: l.Passes(),
	}
	for c := range l.Capabilities() {
		n.held = append(n.held, claim{Capability: c})
	}
	n.notBefore, _ = l.NotBefore()
	var ok bool
	n.ends, ok = l.Expires()
	n.eternal = !ok
	if l.Conditional() {
		n.notes = append(n.notes, "carries conditions beyond its resource, so it grants less than this")
	}
	return n
}

// forest is a set of tokens and what each was made from.
type forest struct {
	nodes   []*node // in the order in which they came, proofs before what carries them
	bad     []token // those that could not be read
	byCID   map[ucan.CID]*node
	madeOut map[ucan.DID][]*node
	now     time.Time
	order   []*node // proofs before what was made from them
}

// plant finds out how tokens hang together, and what is wrong with them at now.
func plant(tokens []token, now time.Time) *forest {
	f := &forest{byCID: map[ucan.CID]*node{}, madeOut: map[ucan.DID][]*node{}, now: now}
	for _, t := range tokens {
		f.add(t)
	}
	for _, n := range f.nodes {
		f.madeOut[n.audience] = append(f.madeOut[n.audience], n)
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

func (f *forest) add(t token) {
	if t.link != nil {
		f.addLink(t.link, t.source)
		return
	}
	n, inline, ok := peek(t)
	if !ok {
		f.bad = append(f.bad, t)
		return
	}
	for _, p := range inline {
		f.add(p)
	}
	f.addNode(n)
}

func (f *forest) addLink(l *ucan.Link, source string) {
	for _, p := range l.Inline() {
		f.addLink(p, "inside "+source)
	}
	f.addNode(nodeOf(l, source))
}

func (f *forest) addNode(n *node) {
	if f.byCID[n.cid] == nil {
		f.byCID[n.cid] = n
		f.nodes = append(f.nodes, n)
	}
}

// resolve finds the parents of a token, theirs first.
func (f *forest) resolve(n *node) {
	if n.state != unresolved {
		return
	}
	n.state = resolving
	if n.format == ucan.JWT {
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
	for _, c := range n.proofs {
		p := f.byCID[c]
		if p == nil {
			n.warn("broken chain: its proof %s is not among the tokens given", c)
			continue
		}
		f.resolve(p)
		n.parents = append(n.parents, p)
		if p.audience != n.issuer {
			n.warn("broken chain: issued by %s, but its proof %s is made out to %s", n.issuer, p.cid, p.audience)
		}
	}
	if len(n.proofs) == 0 {
		n.bareOwner = n.issuer
	}
	for i, p := range n.parents {
		if i > 0 && p.bareOwner != n.bareOwner {
			n.bareOwner = ucan.DID{}
			break
		}
		n.bareOwner = p.bareOwner
	}
	for i := range n.held {
		n.held[i].setOwner(n.bareOwner)
	}
}

// setOwner tells whose namespace a resource is in.
func (c *claim) setOwner(bare ucan.DID) {
	c.owner = bare
	if d := c.Resource().DID(); d != "" {
		c.owner, _ = ucan.ParseDID(d) // zero for what is no DID: it then covers nothing
	}
}

// searchProofs finds what a native token can have been made from: it names no
// proofs itself.
func (f *forest) searchProofs(n *node) {
	n.bareOwner = n.subject
	for i := range n.held {
		n.held[i].setOwner(n.subject)
	}
	if n.subject == n.issuer {
		return
	}
	var covering, others []*node
	subjects := 0
	for _, p := range f.madeOut[n.issuer] {
		if p == n || p.state == resolving {
			continue // a chain that leads back to itself proves nothing
		}
		if p.format == ucan.Native && p.subject != n.subject {
			subjects++
			continue
		}
		f.resolve(p)
		if f.covers(p, n) {
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
	case subjects > 0:
		n.warn("broken chain: what is made out to its issuer %s is about another subject than %s", n.issuer, n.subject)
	default:
		n.warn("broken chain: none of the tokens given is made out to its issuer %s", n.issuer)
	}
}

// inherit gives a token that names no resource those of its proofs.
func (n *node) inherit() {
	if !n.passes {
		return
	}
	can, held := n.held[0].Can(), []claim(nil)
	for _, p := range n.parents {
		for i := range p.held {
			g := &p.held[i]
			if c, err := caps.NewCapability(g.With(), string(can)); err == nil && g.Can().Covers(can) {
				held = append(held, claim{Capability: c, owner: g.owner})
			}
		}
	}
	n.held = held
}

func (f *forest) covers(p, n *node) bool {
	if n.passes {
		return slices.ContainsFunc(p.held, func(g claim) bool { return g.Can().Covers(n.held[0].Can()) })
	}
	for i := range n.held {
		if p.covering(&n.held[i]) == nil {
			return false
		}
	}
	return true
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
	return n.format == ucan.JWT && len(n.proofs) == 0 || n.format == ucan.Native && n.subject == n.issuer
}

// narrowing says in words what became of the capability that c was made from.
func (c *claim) narrowing() string {
	if c.from == nil {
		return ""
	}
	var parts []string
	if from, to := c.from.place(), c.place(); c.from.path() != c.path() {
		parts = append(parts, from+" to "+to)
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
