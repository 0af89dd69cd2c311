package workspace

import (
	"context"
	"fmt"

	"usher/caps"
	"usher/caps/value"
)

// view is the tree at one moment, read at the expense of the tree's meter. Whoever opens it closes
// it.
type view struct {
	t    *Tree
	snap Snapshot
}

func (t *Tree) look(ctx context.Context) (view, error) {
	snap, err := t.store.Snapshot(ctx)
	return view{t, snap}, err
}

func (v view) close() { v.snap.Close() }

func (v view) get(ctx context.Context, key string) ([]byte, uint64, error) {
	data, rev, err := v.snap.Get(ctx, key)
	if err != nil {
		return nil, 0, err
	}
	return data, rev, v.t.charge(ctx, len(key)+len(data))
}

// page and pageKeys read the entries of a branch.
func (v view) page(ctx context.Context, id branchID, from string, limit int) ([]Row, string, error) {
	rows, next, err := v.snap.Page(ctx, entryPrefix(id), from, limit)
	return chargePage(ctx, v.t, rows, next, err, func(r Row) int { return len(r.Key) + len(r.Value) })
}

func (v view) pageKeys(ctx context.Context, id branchID, from string, limit int) ([]string, string, error) {
	keys, next, err := v.snap.PageKeys(ctx, entryPrefix(id), from, limit)
	return chargePage(ctx, v.t, keys, next, err, func(key string) int { return len(key) })
}

func chargePage[T any](ctx context.Context, t *Tree, page []T, next string, err error, size func(T) int) ([]T, string, error) {
	sum := 0
	for _, row := range page {
		sum += size(row)
	}
	if err == nil {
		err = t.charge(ctx, sum)
	}
	if err != nil {
		return nil, "", err
	}
	return page, next, nil
}

// count reads how many entries a branch has, and the revision of that: it changes with each entry
// that is added or removed, and with no other write.
func (v view) count(ctx context.Context, id branchID) (n int, rev uint64, err error) {
	data, rev, err := v.get(ctx, countKey(id))
	if err != nil {
		return 0, 0, fmt.Errorf("read count: %w", err)
	}
	n, err = decodeCount(data)
	return n, rev, err
}

// spot is where a path leads: the entry that holds its value, or would hold it.
type spot struct {
	segs  []string
	depth int               // segs[:depth] is the path of the entry itself
	links map[string]uint64 // the revision of every entry on the way, the spot's own included

	branch   branchID // holds the entry
	inVector bool     // the branch is an array
	array    int      // segs[:array] is the first array on the way to the entry; 0: there is none
	key      string   // "" when the branch is an array and the segment no index
	node     node
	rev      uint64 // 0: there is no such entry
}

// path is that of the entry, rest the part of the path that goes on inside its leaf.
func (s *spot) path() []string { return s.segs[:s.depth] }
func (s *spot) rest() []string { return s.segs[s.depth:] }

// find follows segs, a namespace and at least one key, as far as entries go.
func (v view) find(ctx context.Context, owner string, segs []string) (*spot, error) {
	s := &spot{segs: segs, depth: 1, branch: rootID(owner, segs[0]), links: make(map[string]uint64, len(segs))}
	for {
		segment := segs[s.depth]
		s.depth++
		s.node, s.rev, s.key = nil, 0, entryKey(s.branch, segment)
		if s.inVector {
			index, ok := value.Index(segment)
			if !ok {
				s.key = ""
				return s, nil
			}
			s.key = elementKey(s.branch, index)
		}
		data, rev, err := v.get(ctx, s.key)
		if s.links[s.key] = rev; err == nil && rev != 0 {
			s.rev = rev
			s.node, err = decodeNode(data)
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("read %s: %w", join(s.path()), err)
		case rev == 0, s.depth == len(segs), !s.node.isStored():
			return s, nil
		}
		s.branch, s.inVector = s.node.id(), s.node.isVector()
		if s.inVector && s.array == 0 {
			s.array = s.depth
		}
	}
}

// resolve returns what lies at r, and its revision: 0 when there is nothing.
func (v view) resolve(ctx context.Context, owner string, r caps.Resource) (node, uint64, error) {
	owner, segs, err := locate(owner, r)
	if err != nil {
		return nil, 0, err
	}
	if len(segs) == 1 {
		id := rootID(owner, segs[0])
		_, rev, err := v.count(ctx, id)
		return branchOf(mapKind, id), max(rev, 1), err
	}
	s, err := v.find(ctx, owner, segs)
	if err != nil {
		return nil, 0, err
	}
	if s.rev == 0 || len(s.rest()) == 0 {
		return s.node, s.rev, nil
	}
	whole, err := parse(s.node)
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", join(segs), err)
	}
	part, ok := value.At(whole, s.rest()...)
	if !ok {
		return nil, 0, nil
	}
	return leafOf(part), s.rev, nil
}
