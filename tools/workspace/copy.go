package workspace

import (
	"context"
	"fmt"

	"usher/caps"
)

// Copy stores at to what lies at from. It takes the value as it is now, so a tree may be copied
// into itself; a write that comes between the reading and the writing is not in the copy. A large value goes over branch by branch and is never in memory as a whole.
func (t *Tree) Copy(ctx context.Context, fromOwner string, from caps.Resource, toOwner string, to caps.Resource) error {
	toOwner, segs, err := locateKey(toOwner, to)
	if err != nil {
		return err
	}
	if segs[0] == "o" {
		return t.copyWhole(ctx, fromOwner, from, toOwner, segs)
	}
	var b *built
	defer func() {
		if b != nil {
			t.release(b)
		}
	}()
	err = t.view(ctx, fromOwner, from, func(v view) error {
		if b != nil { // the source moved during the attempt before
			t.release(b)
			b = nil
		}
		if v.rev == 0 {
			return nil
		}
		var err error
		b, err = t.duplicate(ctx, v.node)
		return err
	})
	if err != nil {
		return err
	}
	if b == nil {
		return sourceError(from)
	}
	return t.link(ctx, toOwner, segs, b, (*edit).set)
}

// copyWhole copies to a place below o/, whose values are small and looked at as a whole.
func (t *Tree) copyWhole(ctx context.Context, fromOwner string, from caps.Resource, toOwner string, segs []string) error {
	out, rev, err := t.get(ctx, fromOwner, from, chunkLimit)
	switch {
	case err != nil:
		return err
	case rev == 0:
		return sourceError(from)
	case out.over():
		return errTooLong
	}
	v, err := parse(out.buf)
	if err != nil {
		return err
	}
	return t.link(ctx, toOwner, segs, v, (*edit).set)
}

func sourceError(from caps.Resource) error {
	return fmt.Errorf("source not found: there is nothing at %s", from)
}

// duplicate builds a copy of a node.
func (t *Tree) duplicate(ctx context.Context, n node) (*built, error) {
	if !n.stored() {
		return &built{node: n}, nil
	}
	top := node{kind: n.kind, id: newID(), first: n.first}
	e := t.emitter(top)
	err := t.duplicateBranch(ctx, e, n.id, top)
	if err == nil {
		err = e.finish(ctx)
	}
	if err != nil {
		t.release(e.built)
		return nil, err
	}
	return e.built, nil
}

// duplicateBranch emits the entries of branch src under dst, and then the branches below them.
func (t *Tree) duplicateBranch(ctx context.Context, e *emitter, src branchID, dst node) error {
	type below struct {
		key   string
		value []byte // the source's entry
		src   branchID
		dst   node
	}
	var branches []below
	count := uint64(0)
	err := t.scan(ctx, entryPrefix(src), "", func(key string, value []byte) (bool, error) {
		count++
		n, err := decodeNode(value)
		if err != nil {
			return false, err
		}
		if n.stored() {
			from := n.id
			n.id = newID()
			branches = append(branches, below{key, value, from, n})
		}
		return true, e.put(ctx, entryKey(dst.id, key[prefixLen:]), n.encode())
	})
	if err != nil {
		return err
	}
	if dst.kind != chunkKind {
		if err := e.put(ctx, countKey(dst.id), encodeCount(count)); err != nil {
			return err
		}
	}
	for _, b := range branches {
		if err := t.duplicateBranch(ctx, e, b.src, b.dst); err != nil {
			return err
		}
		if err := t.stillLinked(ctx, b.key, b.value); err != nil {
			return err
		}
	}
	return nil
}
