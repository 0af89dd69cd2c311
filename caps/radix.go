package caps

import (
	"math/bits"
	"strings"
)

// radix is a byte radix tree over keys made of segments. Nodes stand in a flat
// array without pointers: the collector skips them, and a walk touches a cache
// line or two at each branch. It is never changed after it was built.
type radix struct {
	nodes  []node
	heads  string // heads[i] is the first byte of the label of nodes[i]
	leaves []leaf // in the order of keys, then of bits
}

// leaf is a bit under a key, and what stands behind it.
type leaf struct {
	key   string
	owner uint32
	bit   uint8
}

// node is a key, or a place where keys part. The children of a node are
// neighbours, sorted by the first byte of their labels.
type node struct {
	mask  uint64 // the bits of the key that ends here; 0 where none does
	sub   uint64 // the bits of all keys that end here or below
	first uint32 // the first child
	leaf  uint32 // the first leaf here or below: that of the lowest bit of mask
	size  uint16 // bytes of the label, the text between the parent and this
	kids  uint8  // number of children
	low   uint8  // the head of the first child, where the heads follow each other without a gap; or 0
}

// lookup finds the shortest key that holds a bit of need and covers text by
// segment, and allows by what stands behind that bit. The empty key covers every
// text but those that name a principal.
//
// This is the path of every decision: one pass over text, no allocation. It
// looks at the bytes where keys part; the first key that it comes to begins all
// that lie below, so it is the one to compare.
func (t *radix) lookup(text string, need uint64) verdict {
	n := &t.nodes[0]
	if hit := n.mask & need; hit != 0 && !strings.HasPrefix(text, didPrefix) {
		return verdict(t.ownerOf(n, hit) + 1)
	}
	for at := 0; at < len(text) && n.sub&need != 0; {
		if n = t.branch(n, text[at]); n == nil {
			break
		}
		at += int(n.size)
		if hit := n.mask & need; hit != 0 && endsSegment(text, at) {
			if t.leaves[n.leaf].key != text[:at] {
				break
			}
			return verdict(t.ownerOf(n, hit) + 1)
		}
	}
	return 0
}

// endsSegment reports whether a segment of text ends at byte at.
func endsSegment(text string, at int) bool {
	return at == len(text) || at < len(text) && text[at] == '/'
}

// branch returns the child of n whose label begins with head.
func (t *radix) branch(n *node, head byte) *node {
	i := head - n.low
	if n.low == 0 {
		i = byte(strings.IndexByte(t.heads[n.first:n.first+uint32(n.kids)], head))
	}
	if i >= n.kids {
		return nil
	}
	return &t.nodes[n.first+uint32(i)]
}

// ownerOf returns what stands behind the lowest bit of hit, which is not empty
// and within n's mask.
func (t *radix) ownerOf(n *node, hit uint64) uint32 {
	below := n.mask & (hit&-hit - 1)
	return t.leaves[n.leaf+uint32(bits.OnesCount64(below))].owner
}
