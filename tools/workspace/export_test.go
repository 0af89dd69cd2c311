package workspace

import (
	"context"
	"encoding/json"

	"usher/caps"
	"usher/tools"
)

// Put is covia:write of a Go value.
func (t *Tree) Put(ctx context.Context, owner string, r caps.Resource, value any) error {
	return t.writeGo(ctx, owner, r, value, replaces)
}

// Append is covia:append of a Go value.
func (t *Tree) Append(ctx context.Context, owner string, r caps.Resource, value any) error {
	return t.writeGo(ctx, owner, r, value, adds)
}

func (t *Tree) writeGo(ctx context.Context, owner string, r caps.Resource, value any, how manner) error {
	raw, isRaw := value.(json.RawMessage)
	if !isRaw {
		var err error
		if raw, err = json.Marshal(value); err != nil {
			return err
		}
	}
	return t.write(ctx, owner, r, raw, how)
}

// Delete is covia:delete.
func (t *Tree) Delete(ctx context.Context, owner string, r caps.Resource) error {
	return t.place(ctx, owner, r, nil, removes)
}

// Copy is covia:copy.
func (t *Tree) Copy(ctx context.Context, fromOwner string, from caps.Resource, toOwner string, to caps.Resource) error {
	return t.copy(ctx, fromOwner, from, toOwner, to)
}

// Metered charges a meter.
func (t *Tree) Metered(m *tools.Meter) *Tree { return &Tree{t.forest, user{meter: m}} }

// By signs what is written.
func (t *Tree) By(author tools.Author) *Tree { return &Tree{t.forest, user{author: &author}} }

// MaxValue is the largest value.
const MaxValue = maxValue

// Sweep removes all garbage now.
func (t *Tree) Sweep(ctx context.Context) error { return t.sweepAll(ctx) }

// Node kinds and keys, for walking a store from outside.
var (
	RootID     = rootID
	DecodeNode = decodeNode
)

// Link is what DecodeNode found: the id of a branch, and whether it counts its entries.
func (n node) Link() (id [16]byte, stored, counted bool) {
	if !n.isStored() {
		return id, false, false
	}
	return n.id(), true, true
}

// Encode is the stored form.
func (n node) Encode() []byte { return n }

// List is covia:list of a path.
func (t *Tree) List(ctx context.Context, owner string, r caps.Resource, offset, limit int) (listing, error) {
	return t.list(ctx, owner, r, page{offset: int64(offset), limit: int64(limit)})
}

// Slice is covia:slice of a path.
func (t *Tree) Slice(ctx context.Context, owner string, r caps.Resource, offset, limit int) (listing, error) {
	return t.list(ctx, owner, r, page{offset: int64(offset), limit: int64(limit), pairs: true})
}
