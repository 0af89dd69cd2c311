package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"usher/caps"
)

// Listing is a page of what lies directly below a path.
type Listing struct {
	Exists bool
	Type   string // "Map", "Vector", "String", "Number", "Boolean" or "Null"
	Count  int    // of all children, not only those of the page
	Keys   []string
	Values []json.RawMessage
	Offset int
}

// maxPage bounds the JSON of the values of one page, in bytes.
const maxPage = 1_000_000

var errPageTooLarge = fmt.Errorf("the values of this page have more than %d bytes: ask for fewer with limit, or read them one by one", maxPage)

// page says which children are wanted and in which form.
type page struct {
	offset, limit int
	// pairs makes a map's children {"key","value"} objects in Values; otherwise a map has Keys.
	pairs bool
}

// List returns the keys of the map or the values of the array at r, from offset on, at most limit.
// A scalar has neither.
func (t *Tree) List(ctx context.Context, owner string, r caps.Resource, offset, limit int) (Listing, error) {
	return t.list(ctx, owner, r, page{offset: offset, limit: limit})
}

// Slice returns the values of the array, or the entries of the map at r as {"key","value"}
// objects, from offset on, at most limit. A scalar is an error.
func (t *Tree) Slice(ctx context.Context, owner string, r caps.Resource, offset, limit int) (Listing, error) {
	return t.list(ctx, owner, r, page{offset: offset, limit: limit, pairs: true})
}

func (t *Tree) list(ctx context.Context, owner string, r caps.Resource, p page) (l Listing, err error) {
	err = t.view(ctx, owner, r, func(v view) error {
		l = Listing{}
		if v.rev == 0 {
			return nil
		}
		l, err = t.listNode(ctx, r.String(), v.node, p)
		return err
	})
	return l, err
}

// listNode lists a node that lies at a path.
func (t *Tree) listNode(ctx context.Context, at string, n node, p page) (Listing, error) {
	if p.offset < 0 || p.limit < 1 {
		return Listing{}, errors.New("offset must be 0 or more and limit 1 or more")
	}
	l := Listing{Exists: true, Type: n.typeName(), Offset: p.offset}
	if !n.container() {
		if p.pairs {
			return Listing{}, fmt.Errorf("%s is a %s and has no parts: use covia:read", at, l.Type)
		}
		return l, nil
	}
	keysOnly := !n.isVector() && !p.pairs
	l.Values = []json.RawMessage{}
	if keysOnly {
		l.Keys, l.Values = []string{}, nil
	}
	left := int64(maxPage)
	count, err := t.children(ctx, n, p.offset, keysOnly, func(c childNode) (bool, error) {
		if keysOnly {
			l.Keys = append(l.Keys, c.key)
			left -= int64(len(c.key))
		} else {
			value, err := t.pageValue(ctx, !n.isVector(), c, left)
			if err != nil {
				return false, err
			}
			l.Values = append(l.Values, value)
			left -= int64(len(value))
		}
		if left < 0 {
			return false, errPageTooLarge
		}
		return len(l.Keys)+len(l.Values) < p.limit, nil
	})
	l.Count = count
	return l, err
}

// childNode is one child of a container: a key, or "" in an array, and what is there. After
// reading below the node, check says whether that was still linked.
type childNode struct {
	key   string
	node  node
	check func() error
}

// pageValue is one child as a page shows it. What is longer than limit is cut off at once.
func (t *Tree) pageValue(ctx context.Context, pair bool, c childNode, limit int64) (json.RawMessage, error) {
	out := &sink{limit: limit}
	if pair {
		out.write(append(appendString([]byte(`{"key":`), c.key), `,"value":`...))
	}
	if err := t.stream(ctx, c.node, out); err != nil {
		return nil, err
	}
	if pair {
		out.write([]byte("}"))
	}
	if out.over() {
		return nil, errPageTooLarge
	}
	return out.buf, c.check()
}

// children calls fn for the children of a container from offset on, and returns how many there
// are. With keysOnly the nodes are left out.
func (t *Tree) children(ctx context.Context, n node, offset int, keysOnly bool, fn func(childNode) (bool, error)) (int, error) {
	if !n.stored() {
		return leafChildren(n, offset, fn)
	}
	count, _, err := t.count(ctx, n.id)
	if err != nil {
		return 0, err
	}
	start := ""
	skip := offset
	if n.kind == vectorKind {
		start, skip = elementKey(n.id, uint64(offset)), 0
	}
	err = t.scan(ctx, entryPrefix(n.id), start, func(key string, value []byte) (bool, error) {
		if skip > 0 {
			skip--
			return true, nil
		}
		c := childNode{check: func() error { return nil }}
		if n.kind == mapKind {
			c.key = key[prefixLen:]
		}
		if !keysOnly {
			var err error
			if c.node, err = decodeNode(value); err != nil {
				return false, err
			}
			if c.node.stored() {
				c.check = func() error { return t.stillLinked(ctx, key, value) }
			}
		}
		return fn(c)
	})
	return int(count), err
}

func leafChildren(n node, offset int, fn func(childNode) (bool, error)) (int, error) {
	v, err := parse(n.leaf)
	if err != nil {
		return 0, err
	}
	give := func(key string, v any) (bool, error) {
		return fn(childNode{
			key: key, node: node{kind: leafKind, leaf: appendJSON(nil, v)},
			check: func() error { return nil },
		})
	}
	switch c := v.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(c))
		for _, k := range keys[min(offset, len(keys)):] {
			if more, err := give(k, c[k]); !more || err != nil {
				return len(c), err
			}
		}
		return len(c), nil
	case []any:
		for _, v := range c[min(offset, len(c)):] {
			if more, err := give("", v); !more || err != nil {
				return len(c), err
			}
		}
		return len(c), nil
	}
	return 0, nil
}
