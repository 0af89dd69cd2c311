package workspace

import (
	"context"
	"fmt"
)

// link is an entry that was read and its revision; 0 says that it did not exist.
type link struct {
	key string
	rev uint64
}

// spot is where a path leads: the entry that holds its value, or would hold it.
type spot struct {
	segs  []string
	depth int    // segs[:depth] is the path of the entry itself
	links []link // every entry on the way, the spot's own last

	branch   branchID // holds the entry
	inVector bool
	key      string // "" when the branch is an array and the segment no index
	node     node
	rev      uint64 // 0: there is no such entry
}

// rest is the part of the path that goes on inside the entry's leaf.
func (s *spot) rest() []string { return s.segs[s.depth:] }

// find follows segs, a namespace and at least one key, as far as entries go. With whole it stops
// at the first entry even if that is a branch.
func (t *Tree) find(ctx context.Context, owner string, segs []string, whole bool) (*spot, error) {
	s := &spot{segs: segs, branch: rootID(owner, segs[0])}
	for s.depth = 1; ; {
		segment := segs[s.depth]
		s.depth++
		s.key = entryKey(s.branch, segment)
		if s.inVector {
			index, ok := parseIndex(segment)
			if !ok {
				s.key, s.rev, s.node = "", 0, node{}
				return s, nil
			}
			s.key = elementKey(s.branch, index)
		}
		data, rev, err := t.store.Get(ctx, s.key)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", join(segs[:s.depth]), err)
		}
		s.links = append(s.links, link{s.key, rev})
		s.rev, s.node = rev, node{}
		if rev == 0 {
			return s, nil
		}
		if s.node, err = decodeNode(data); err != nil {
			return nil, fmt.Errorf("read %s: %w", join(segs[:s.depth]), err)
		}
		if s.depth == len(segs) || whole || s.node.kind != mapKind && s.node.kind != vectorKind {
			return s, nil
		}
		s.branch, s.inVector = s.node.id, s.node.kind == vectorKind
	}
}

// unchanged reports whether all links are at one moment as they were read. What was found below
// them may be trusted then: nobody unlinked and swept it meanwhile.
func (t *Tree) unchanged(ctx context.Context, links []link) (bool, error) {
	expect := make(map[string]uint64, len(links))
	for _, l := range links {
		expect[l.key] = l.rev
	}
	moved, err := t.store.Apply(ctx, expect, nil, nil)
	return moved == "", err
}

// count reads how many entries a branch has.
func (t *Tree) count(ctx context.Context, id branchID) (n, rev uint64, err error) {
	data, rev, err := t.store.Get(ctx, countKey(id))
	if err != nil {
		return 0, 0, fmt.Errorf("read count: %w", err)
	}
	n, err = decodeCount(data)
	return n, rev, err
}
