package caps

import "strings"

// hintScan bounds how many capabilities a hint for the root looks at.
const hintScan = 64

// hint names the nearest resource on which s allows the ability that r was
// denied for, or is "" where none shares its first segment. The work is bounded
// by the length of resources, not by the number of capabilities.
func (s Set) hint(r Request) string {
	if s.c == nil || s.IsUnrestricted() || r.kind < onResource {
		return ""
	}
	nearest, ok := s.c.nearest(r.can, r.on)
	switch with := nearest.With(); {
	case !ok:
		return ""
	case strings.HasSuffix(with, "/"):
		return "You may " + string(r.can) + " below " + with + "."
	default: // below an agent or a secret there is nothing, and a record is itself what may be used
		return "You may " + string(r.can) + " on " + with + "."
	}
}

func (c *compiled) nearest(can Ability, on Resource) (best Capability, ok bool) {
	if on.IsRoot() {
		// Everything of one's own is below the root: the first will do.
		for _, capability := range c.list[:min(len(c.list), hintScan)] {
			if capability.can.Covers(can) && !capability.Resource().absolute() {
				return capability, true
			}
		}
		return Capability{}, false
	}
	ids, most := c.covering(can), 0
	for i := 0; i < ids.n; {
		tree, need, next := ids.next(i)
		t := &c.resources[tree]
		if n := t.near(on.text, need); n != nil {
			owner := c.list[t.ownerOf(n, n.mask&need)]
			if shared := sharedSegments(owner.Resource().text, on.text); shared > most {
				best, most = owner, shared
			}
		}
		i = next
	}
	return best, most > 0
}

// near returns a node with bits of need whose key shares as much as possible of
// text; nil where no key has such bits.
func (t *radix) near(text string, need uint64) *node {
	n := &t.nodes[0]
	if n.sub&need == 0 {
		return nil
	}
	for at := 0; at < len(text); {
		child := t.branch(n, text[at])
		if child == nil || child.sub&need == 0 {
			break
		}
		n = child
		if !strings.HasPrefix(text[at:], t.label(n, at)) {
			break
		}
		at += int(n.size)
	}
	for n.mask&need == 0 {
		n = t.descend(n, need)
	}
	return n
}

// descend returns a child of n with bits of need below it, if possible the one
// that goes on at a border of segments.
func (t *radix) descend(n *node, need uint64) (child *node) {
	for i := range uint32(n.kids) {
		c := &t.nodes[n.first+i]
		if c.sub&need != 0 && (child == nil || t.heads[n.first+i] == '/') {
			child = c
		}
	}
	return child
}

// sharedSegments counts the leading segments that a and b have in common.
func sharedSegments(a, b string) (n int) {
	for {
		segA, restA, moreA := strings.Cut(a, "/")
		segB, restB, moreB := strings.Cut(b, "/")
		if segA != segB {
			return n
		}
		n++
		if !moreA || !moreB {
			return n
		}
		a, b = restA, restB
	}
}
