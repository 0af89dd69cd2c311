package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"usher/caps"
)

// errMoved says that something was unlinked while it was read. It never leaves the package.
var errMoved = errors.New("value was replaced while it was read")

// sink takes JSON up to a limit and goes on counting beyond it.
type sink struct {
	buf   []byte
	size  int64
	limit int64
}

func (s *sink) write(p []byte) {
	if s.size += int64(len(p)); s.over() {
		s.buf = nil
		return
	}
	s.buf = append(s.buf, p...)
}

func (s *sink) over() bool { return s.size > s.limit }

// Get returns the JSON of what lies at r and its revision: 0 when there is nothing. See
// [Tree.Revision] for what a revision tells.
func (t *Tree) Get(ctx context.Context, owner string, r caps.Resource) (json.RawMessage, uint64, error) {
	const all = 1<<63 - 1
	out, rev, err := t.get(ctx, owner, r, all)
	if err != nil || rev == 0 {
		return nil, 0, err
	}
	return out.buf, rev, nil
}

// get streams the value at r into a sink with a limit.
func (t *Tree) get(ctx context.Context, owner string, r caps.Resource, limit int64) (out *sink, rev uint64, err error) {
	err = t.view(ctx, owner, r, func(v view) error {
		out, rev = &sink{limit: limit}, v.rev
		if rev == 0 {
			return nil
		}
		return t.stream(ctx, v.node, out)
	})
	return out, rev, err
}

// Revision returns a number that changes when the value at r is replaced, and 0 when there is
// nothing. Below o/ it changes with every write at or below the name. In w/ it may change though
// the value did not, when something beside it in the same small map did; and it stays when a
// single record of a value above 4 KiB changes.
func (t *Tree) Revision(ctx context.Context, owner string, r caps.Resource) (rev uint64, err error) {
	err = t.view(ctx, owner, r, func(v view) error { rev = v.rev; return nil })
	return rev, err
}

// view is a value as it was found: a node, and the entries that lead to it.
type view struct {
	node node
	rev  uint64 // 0: there is nothing
}

// view calls fn with what lies at r. fn may run several times: whatever it read below a branch
// counts only if the branch was still linked afterwards.
func (t *Tree) view(ctx context.Context, owner string, r caps.Resource, fn func(view) error) error {
	owner, segs, err := locate(owner, r)
	if err != nil {
		return err
	}
	for range attempts {
		v, links, err := t.resolve(ctx, owner, segs)
		if err != nil {
			return err
		}
		err = fn(v)
		moved := errors.Is(err, errMoved)
		if err != nil && !moved {
			return err
		}
		// A leaf needs no second look: it was linked when it was read. An entry that is missing
		// may have been swept away from a branch that is not there any more.
		if !moved && v.rev != 0 && !v.node.stored() {
			return nil
		}
		same, err := t.unchanged(ctx, links)
		if err != nil {
			return fmt.Errorf("read %s: %w", join(segs), err)
		}
		if same && !moved {
			return nil
		}
	}
	return fmt.Errorf("read %s: %w", join(segs), ErrBusy)
}

func (t *Tree) resolve(ctx context.Context, owner string, segs []string) (view, []link, error) {
	if len(segs) == 1 {
		id := rootID(owner, segs[0])
		_, rev, err := t.count(ctx, id)
		return view{node{kind: mapKind, id: id}, max(rev, 1)}, nil, err
	}
	s, err := t.find(ctx, owner, segs, false)
	if err != nil || s.rev == 0 {
		return view{}, s.linksOrNil(), err
	}
	if len(s.rest()) == 0 {
		return view{s.node, s.rev}, s.links, nil
	}
	if !s.node.container() {
		return view{}, s.links, nil
	}
	v, err := parse(s.node.leaf)
	if err != nil {
		return view{}, nil, fmt.Errorf("read %s: %w", join(segs), err)
	}
	part, ok := lookup(v, s.rest())
	if !ok {
		return view{}, s.links, nil
	}
	return view{node{kind: leafKind, leaf: appendJSON(nil, part)}, s.rev}, s.links, nil
}

func (s *spot) linksOrNil() []link {
	if s == nil {
		return nil
	}
	return s.links
}

// stream writes the JSON of n. The children of a branch come in the order of their keys, which is
// that of sorted JSON.
func (t *Tree) stream(ctx context.Context, n node, out *sink) error {
	if n.kind == leafKind {
		out.write(n.leaf)
		return nil
	}
	open, end := "{", "}"
	switch n.kind {
	case vectorKind:
		open, end = "[", "]"
	case chunkKind:
		open, end = "", ""
	}
	out.write([]byte(open))
	var scratch []byte
	first := true
	err := t.scan(ctx, entryPrefix(n.id), "", func(key string, value []byte) (bool, error) {
		scratch = scratch[:0]
		if !first && n.kind != chunkKind {
			scratch = append(scratch, ',')
		}
		first = false
		if n.kind == mapKind {
			scratch = append(appendString(scratch, key[prefixLen:]), ':')
		}
		out.write(scratch)
		c, err := decodeNode(value)
		if err != nil {
			return false, err
		}
		return true, t.streamChild(ctx, key, value, c, out)
	})
	out.write([]byte(end))
	return err
}

// streamChild streams one child of a branch that is being scanned.
func (t *Tree) streamChild(ctx context.Context, key string, value []byte, c node, out *sink) error {
	if err := t.stream(ctx, c, out); err != nil || !c.stored() {
		return err
	}
	return t.stillLinked(ctx, key, value)
}

// stillLinked fails with errMoved unless the entry of a branch is as it was, so that what was read
// below it was not being swept.
func (t *Tree) stillLinked(ctx context.Context, key string, value []byte) error {
	now, _, err := t.store.Get(ctx, key)
	if err == nil && !bytes.Equal(now, value) {
		return errMoved
	}
	return err
}
