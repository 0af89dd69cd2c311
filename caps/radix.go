package caps

import (
	"math/bits"
	"strings"
)

// radix is a byte radix tree over keys made of segments. Nodes, labels and
// children stand in flat arrays without pointers: the collector skips them, and
// a walk touches a cache line or two at each branch. It is never changed after
// it was built.
type radix struct {
	nodes  []node
	heads  string   // heads[i] is the first byte of the label of nodes[i]
	labels string   // the text of all labels
	owners []uint32 // what stands behind the bits of a node's mask
}

// node is a key, or a place where keys part. The children of a node are
// neighbours, sorted by the first byte of their labels.
type node struct {
	mask  uint64 // the bits of the key that ends here; 0 where none does
	sub   uint64 // the bits of all keys that end here or below
	label uint32 // where in labels the text between the parent and this begins
	first uint32 // the first child
	owner uint32 // where in owners the lowest bit of mask stands
	size  uint16 // bytes of the label
	kids  uint16 // number of children
}

// lookup finds the shortest key that holds a bit of need and covers text by
// segment, and returns what stands behind that bit. The empty key covers every
// text but those that name a principal.
//
// This is the path of every decision: one pass over text, no allocation.
func (t *radix) lookup(text string, need uint64) (uint32, bool) {
	n := &t.nodes[0]
	if hit := n.mask & need; hit != 0 && !strings.HasPrefix(text, didPrefix) {
		return t.ownerOf(n, hit), true
	}
	for at := 0; at < len(text) && n.sub&need != 0; {
		if n = t.step(n, text, at); n == nil {
			return 0, false
		}
		at += int(n.size)
		if hit := n.mask & need; hit != 0 && (at == len(text) || text[at] == '/') {
			return t.ownerOf(n, hit), true
		}
	}
	return 0, false
}

// step returns the child of n whose label is what follows in text at byte at.
func (t *radix) step(n *node, text string, at int) *node {
	child := t.branch(n, text[at])
	if child == nil || !strings.HasPrefix(text[at:], t.label(child)) {
		return nil
	}
	return child
}

// branch returns the child of n whose label begins with head.
func (t *radix) branch(n *node, head byte) *node {
	heads := t.heads[n.first : n.first+uint32(n.kids)]
	if len(heads) > 8 { // where a call costs less than the loop
		if i := strings.IndexByte(heads, head); i >= 0 {
			return &t.nodes[n.first+uint32(i)]
		}
		return nil
	}
	for i := range len(heads) {
		if heads[i] == head {
			return &t.nodes[n.first+uint32(i)]
		}
	}
	return nil
}

func (t *radix) label(n *node) string { return t.labels[n.label : n.label+uint32(n.size)] }

// ownerOf returns what stands behind the lowest bit of hit, which is not empty
// and within n's mask.
func (t *radix) ownerOf(n *node, hit uint64) uint32 {
	below := n.mask & (hit&-hit - 1)
	return t.owners[n.owner+uint32(bits.OnesCount64(below))]
}

// covering calls visit for each key that covers text by segment and holds bits
// of need, shortest first, with those bits, until visit returns false. For the
// empty key see [radix.lookup].
func (t *radix) covering(text string, need uint64, visit func(n *node, hit uint64) bool) {
	n := &t.nodes[0]
	if hit := n.mask & need; hit != 0 && !strings.HasPrefix(text, didPrefix) && !visit(n, hit) {
		return
	}
	for at := 0; at < len(text) && n.sub&need != 0; {
		if n = t.step(n, text, at); n == nil {
			return
		}
		at += int(n.size)
		if hit := n.mask & need; hit != 0 && (at == len(text) || text[at] == '/') && !visit(n, hit) {
			return
		}
	}
}
