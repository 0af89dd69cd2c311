package workspace

import "context"

// Sweep removes all garbage now.
func (t *Tree) Sweep(ctx context.Context) error { return t.sweepAll(ctx) }

// Node kinds and keys, for walking a store from outside.
var (
	RootID     = rootID
	DecodeNode = decodeNode
)

// Link is what DecodeNode found: the id of a branch, and whether it counts its entries.
func (n node) Link() (id [16]byte, stored, counted bool) {
	return n.id, n.stored(), n.kind == mapKind || n.kind == vectorKind
}

// ParseIndex is how array indexes are read.
var ParseIndex = parseIndex

// Encode is the stored form.
func (n node) Encode() []byte { return n.encode() }
