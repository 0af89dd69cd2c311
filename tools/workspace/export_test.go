package workspace

import (
	"context"

	"usher/caps"
)

// Sweep removes all garbage now.
func (t *Tree) Sweep(ctx context.Context) error { return t.sweepAll(ctx) }

// Node kinds and keys, for walking a store from outside.
var (
	RootID     = rootID
	DecodeNode = decodeNode
)

// Link is what DecodeNode found: the id of a branch, and whether it counts its entries.
func (n node) Link() (id [16]byte, stored, counted bool) {
	return n.id, n.stored(), n.stored()
}

// Encode is the stored form.
func (n node) Encode() []byte { return n.encode() }

// List is covia:list of a path.
func (t *Tree) List(ctx context.Context, owner string, r caps.Resource, offset, limit int) (Listing, error) {
	return t.list(ctx, owner, r, page{offset: offset, limit: limit})
}

// Slice is covia:slice of a path.
func (t *Tree) Slice(ctx context.Context, owner string, r caps.Resource, offset, limit int) (Listing, error) {
	return t.list(ctx, owner, r, page{offset: offset, limit: limit, pairs: true})
}
