package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"usher/caps"
	"usher/caps/value"
)

// listing is a page of what lies directly below a path.
type listing struct {
	Exists bool              `json:"exists"`
	Type   string            `json:"type,omitempty"`  // "Map", "Vector", "String", "Number", "Boolean" or "Null"
	Count  *int              `json:"count,omitzero"`  // of all children, not only those of the page
	Keys   []string          `json:"keys,omitzero"`   // of a map
	Values []json.RawMessage `json:"values,omitzero"` // of an array; of a map where pairs are asked for
	Offset *int              `json:"offset,omitzero"`
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

// list returns what the page has of the map or the array at r. A scalar has no parts: that is an
// error where values are wanted.
func (t *Tree) list(ctx context.Context, owner string, r caps.Resource, p page) (listing, error) {
	if p.offset < 0 || p.limit < 1 {
		return listing{}, errors.New("offset must be 0 or more and limit 1 or more")
	}
	v, err := t.look(ctx)
	if err != nil {
		return listing{}, err
	}
	defer v.close()
	n, rev, err := v.resolve(ctx, owner, r)
	if err != nil || rev == 0 {
		return listing{}, err
	}
	l := listing{Exists: true, Type: n.typeName()}
	switch {
	case n.container():
		count, err := v.size(ctx, n)
		if err != nil {
			return l, err
		}
		l.Count, l.Offset = &count, &p.offset
		return l, v.fill(ctx, &l, n, p)
	case p.pairs:
		err = fmt.Errorf("%s is a %s and has no parts: use covia:read", r, l.Type)
	}
	return l, err
}

func (v view) fill(ctx context.Context, l *listing, n node, p page) (err error) {
	left := int64(maxPage)
	if !n.isVector() && !p.pairs {
		l.Keys, err = v.keys(ctx, n, p.offset, p.limit)
		for _, k := range l.Keys {
			left -= int64(len(k))
		}
		if left < 0 {
			return errPageTooLarge
		}
		return err
	}
	l.Values = []json.RawMessage{}
	for c, err := range v.children(ctx, n, p.offset, min(p.limit, nextPages)) {
		if err != nil {
			return err
		}
		value, err := v.pageValue(ctx, !n.isVector(), c, left)
		if err != nil {
			return err
		}
		left -= int64(len(value))
		if l.Values = append(l.Values, value); len(l.Values) == p.limit {
			break
		}
	}
	return nil
}

// pageValue is one child as a page shows it.
func (v view) pageValue(ctx context.Context, pair bool, c child, limit int64) (json.RawMessage, error) {
	out := &sink{limit: limit, short: true}
	var err error
	if pair {
		err = out.write(append(value.AppendString([]byte(`{"key":`), c.key), `,"value":`...))
	}
	if err == nil {
		err = v.stream(ctx, c.node, out)
	}
	if err == nil && pair {
		err = out.write([]byte("}"))
	}
	if errors.Is(err, errOver) {
		err = errPageTooLarge
	}
	return out.buf, err
}
