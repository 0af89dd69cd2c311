package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"usher/caps"
	"usher/caps/value"
	"usher/tools"
)

// listing is a page of what lies directly below a path.
type listing struct {
	Exists bool              `json:"exists"`
	Type   string            `json:"type,omitempty"`  // "Map", "Vector", "String", "Number", "Boolean" or "Null"
	Count  *int              `json:"count,omitzero"`  // of all children, not only those of the page
	Keys   []string          `json:"keys,omitzero"`   // of a map
	Values []json.RawMessage `json:"values,omitzero"` // of an array; of a map where pairs are asked for
	Offset *int64            `json:"offset,omitzero"`
}

type listIn struct {
	Path   caps.Path `json:"path,omitzero" jsonschema:"what to list; without it, the namespaces"`
	Offset int64     `json:"offset,omitempty" jsonschema:"how many to skip (default 0)"`
	Limit  int64     `json:"limit,omitempty" jsonschema:"how many to return (default 1000)"`
}

func (s *space) list(ctx context.Context, call tools.Call, in listIn) (listing, error) {
	if r, err := in.Path.Resource(); !in.Path.IsPresent() || err == nil && len(r.Segments()) == 0 {
		names := []string{"o", "w"}
		count := len(names)
		return listing{Exists: true, Type: "Map", Count: &count, Keys: names}, nil
	}
	out, err := s.page(ctx, call, in.Path, page{in.Offset, in.Limit, false}, defaultKeys)
	if in.Offset == 0 {
		out.Offset = nil
	}
	return out, err
}

type sliceIn struct {
	Path   caps.Path `json:"path" jsonschema:"the array or map to read from"`
	Offset int64     `json:"offset,omitempty" jsonschema:"how many to skip (default 0)"`
	Limit  int64     `json:"limit,omitempty" jsonschema:"how many to return (default 100)"`
}

func (s *space) slice(ctx context.Context, call tools.Call, in sliceIn) (listing, error) {
	return s.page(ctx, call, in.Path, page{in.Offset, in.Limit, true}, defaultValues)
}

func (s *space) page(ctx context.Context, call tools.Call, path caps.Path, p page, limit int64) (listing, error) {
	if err := checkBounds("limit", &p.limit, limit, 1, largestLimit); err != nil {
		return listing{}, err
	}
	if err := checkBounds("offset", &p.offset, 0, 0, 1<<40); err != nil {
		return listing{}, err
	}
	r, err := source(call, path)
	if err != nil {
		return listing{}, err
	}
	return s.treeFor(call).list(ctx, call.Owner().String(), r, p)
}

// maxPage bounds the JSON of the values of one page, in bytes.
const maxPage = 1_000_000

var errPageTooLarge = fmt.Errorf("the values of this page have more than %d bytes: ask for fewer with limit, or read them one by one", maxPage)

// page says which children are wanted and in which form.
type page struct {
	offset, limit int64
	// pairs makes a map's children {"key","value"} objects in Values; otherwise a map has Keys.
	pairs bool
}

// list returns what the page has of the map or the array at r. A scalar has no parts: that is an
// error where values are wanted.
func (t *Tree) list(ctx context.Context, owner string, r caps.Resource, p page) (listing, error) {
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
	if !n.container() {
		if p.pairs {
			err = fmt.Errorf("%s is a %s and has no parts: use covia:read", r, l.Type)
		}
		return l, err
	}
	count, err := v.size(ctx, n)
	if err != nil {
		return l, err
	}
	l.Count, l.Offset = &count, &p.offset
	return l, v.fill(ctx, &l, n, p)
}

func (v view) fill(ctx context.Context, l *listing, n node, p page) (err error) {
	isMap, size := !n.isVector(), 0
	if isMap && !p.pairs {
		l.Keys, err = v.keys(ctx, n, int(p.offset), int(p.limit))
		for _, k := range l.Keys {
			size += len(k)
		}
		if size > maxPage {
			err = errPageTooLarge
		}
		return err
	}
	l.Values = []json.RawMessage{}
	for c, err := range v.children(ctx, n, int(p.offset), int(min(p.limit, nextPages))) {
		if err != nil {
			return err
		}
		out := &sink{limit: int64(maxPage - size), short: true}
		if isMap {
			err = out.write(append(value.AppendString([]byte(`{"key":`), c.key), `,"value":`...))
		}
		if err == nil {
			err = v.stream(ctx, c.node, out)
		}
		if err == nil && isMap {
			err = out.write([]byte("}"))
		}
		if errors.Is(err, errOver) {
			return errPageTooLarge
		}
		if err != nil {
			return err
		}
		size += len(out.buf)
		if l.Values = append(l.Values, out.buf); len(l.Values) == int(p.limit) {
			break
		}
	}
	return nil
}
