package workspace

import (
	"context"
	"encoding/json"
	"errors"

	"usher/caps"
	"usher/caps/value"
)

// sink takes JSON up to a limit. Beyond it, it goes on counting, or ends with errOver.
type sink struct {
	buf   []byte
	size  int64
	limit int64
	short bool // end at the limit
}

// maxStored bounds how deep a leaf nests: as deep as a value, below the maps of the
// longest path.
const maxStored = value.MaxDepth + 1024

// parse reads a leaf.
func parse(leaf []byte) (any, error) { return value.Decode(leaf, maxStored) }

var errOver = errors.New("over the limit") // never leaves the package

func (s *sink) write(p []byte) error {
	if s.size += int64(len(p)); !s.over() {
		s.buf = append(s.buf, p...)
		return nil
	}
	s.buf = nil
	if s.short {
		return errOver
	}
	return nil
}

func (s *sink) over() bool { return s.size > s.limit }

// Get returns the JSON of what lies at r and its revision: 0 when there is nothing. See
// [Tree.Revision] for what a revision tells.
func (t *Tree) Get(ctx context.Context, owner string, r caps.Resource) (json.RawMessage, uint64, error) {
	out := &sink{limit: 1<<63 - 1}
	rev, err := t.get(ctx, owner, r, out)
	return out.buf, rev, err
}

// Revision returns a number that changes when the value at r is replaced, and 0 when there is
// nothing. Below o/ it changes with every write at or below the name. In w/ it may change though
// the value did not, when something beside it in the same small map did; and it stays when a
// single record of a value above 4 KiB changes.
func (t *Tree) Revision(ctx context.Context, owner string, r caps.Resource) (rev uint64, err error) {
	return t.get(ctx, owner, r, nil)
}

// get writes the value at r to out, if there is one.
func (t *Tree) get(ctx context.Context, owner string, r caps.Resource, out *sink) (rev uint64, err error) {
	rev, _, err = t.source(ctx, owner, r, false, out)
	return rev, err
}

// stream writes the JSON of n. The children of a branch come in the order of their keys, which is
// that of sorted JSON.
func (v view) stream(ctx context.Context, n node, out *sink) error {
	if !n.isStored() {
		return out.write(n)
	}
	head, end := []byte("{"), "}"
	if n.isVector() {
		head, end = []byte("["), "]"
	}
	for c, err := range v.children(ctx, n, 0, firstPage) {
		if err != nil {
			return err
		}
		if !n.isVector() {
			head = append(value.AppendString(head, c.key), ':')
		}
		if err := out.write(head); err != nil {
			return err
		}
		if err := v.stream(ctx, c.node, out); err != nil {
			return err
		}
		head = append(head[:0], ',')
	}
	if head[0] != ',' { // there was no child
		end = string(head) + end
	}
	return out.write([]byte(end))
}
