package cli

import (
	"fmt"
	"slices"
	"time"

	"usher/ucan"
)

func (n *node) warn(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(n.warnings, text) {
		n.warnings = append(n.warnings, text)
	}
}

// takenLife is how far in the future a token may expire where [ucan.Limits] says
// nothing else.
const takenLife = 366 * 24 * time.Hour

// inspect notes what is wrong with a token whose parents are known.
func (f *forest) inspect(n *node) {
	if !n.signed {
		n.warn("the signature does not verify: somebody changed the token, or another key signed it")
	}
	switch {
	case !n.eternal && f.now.After(n.ends):
		n.warn("expired %s ago", about(f.now.Sub(n.ends)))
	case !n.notBefore.IsZero() && f.now.Before(n.notBefore):
		n.warn("not valid yet: it begins in %s", about(n.notBefore.Sub(f.now)))
	}
	if n.eternal || n.ends.Sub(f.now) > takenLife {
		n.warn("lives longer than a venue takes by default, %s", about(takenLife))
	}
	for _, p := range n.parents {
		if !p.eternal && (n.eternal || n.ends.After(p.ends)) {
			n.warn("lives longer than its proof %s, which ends at %s", p.cid, stamp(p.ends))
		}
		if n.format == ucan.JWT && n.notBefore.Before(p.notBefore) {
			n.warn("begins before its proof %s, which begins at %s", p.cid, stamp(p.notBefore))
		}
	}
	for i := range n.held {
		f.inspectClaim(n, &n.held[i])
	}
}

func (f *forest) inspectClaim(n *node, c *claim) {
	if n.isRoot() {
		if c.owner != n.issuer {
			note := fmt.Sprintf("begins a chain for %s, so it counts where %s may speak for them (usher ucan verify --root)", c.owner, n.issuer)
			if !slices.Contains(n.notes, note) {
				n.notes = append(n.notes, note)
			}
		}
		return
	}
	if c.owner == n.issuer {
		return // the owner needs no proof
	}
	part, joined := "resource", false
	for _, p := range n.parents {
		if p.audience != n.issuer {
			continue
		}
		joined = true
		if g := p.covering(c); g != nil {
			c.from, c.by = g, p
			return
		}
		for i := range p.held {
			if p.held[i].coversResource(c) {
				part = "ability"
			}
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
