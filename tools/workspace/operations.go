package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"usher/caps"
	"usher/tools"
)

// Defaults and bounds of the operations' inputs.
const (
	defaultMaxSize = 1_000_000
	largestMaxSize = 16 << 20
	defaultKeys    = 1000
	defaultValues  = 100
	largestLimit   = 10_000
	defaultBudget  = 500
	smallestBudget = 10
	largestBudget  = 100_000
)

// Operations returns the covia operations on tree. mounts makes further namespaces readable, by
// their letter; s is never readable.
func Operations(tree *Tree, mounts map[string]Mount) []*tools.Operation {
	s := &space{tree: tree, mounts: mounts}
	read := tools.Within(s.readScopes()...)
	return []*tools.Operation{
		tools.New("covia:read", "Read the value at a path. A value that is missing is no error: exists is false. One that is too large is not returned: truncated is true and size says how large it is; use covia:list and covia:slice on it.",
			func(in readIn) []caps.Request { return []caps.Request{s.needRead("path", in.Path, false)} },
			s.read, tools.ReadOnly(), read),
		tools.New("covia:list", "List what lies directly below a path: the keys of a map, or the values of an array. Without a path, list the namespaces.",
			func(in listIn) []caps.Request { return []caps.Request{s.needRead("path", in.Path, true)} },
			s.list, tools.ReadOnly(), read),
		tools.New("covia:slice", "Read a page of an array's values or of a map's entries, the latter as {key, value}.",
			func(in sliceIn) []caps.Request { return []caps.Request{s.needRead("path", in.Path, false)} },
			s.slice, tools.ReadOnly(), read),
		tools.New("covia:inspect", "Show one or more values as readable text that fits into a budget of bytes, with comments for what is left out. Good for a first look at something large.",
			func(in inspectIn) []caps.Request { return s.needInspect(in.Paths) },
			s.inspect, tools.ReadOnly(), read),
		tools.New("covia:write", "Write a value at a path below w/ or o/, in place of what is there. Maps that are missing on the way are made. A string that holds a JSON object or array is stored as that.",
			func(in writeIn) []caps.Request { return []caps.Request{needWrite("crud/write", "path", in.Path)} },
			s.write, tools.Idempotent(), tools.Within(writeScopes("crud/write")...)),
		tools.New("covia:append", "Add a value to the end of the array at a path below w/ or o/. The array is made when there is nothing.",
			func(in appendIn) []caps.Request { return []caps.Request{needWrite("crud/write", "path", in.Path)} },
			s.append, tools.Within(writeScopes("crud/write")...)),
		tools.New("covia:delete", "Delete what lies at a path below w/ or o/. Nothing there is no error. In an array it leaves null.",
			func(in deleteIn) []caps.Request { return []caps.Request{needWrite("crud/delete", "path", in.Path)} },
			s.delete, tools.Idempotent(), tools.Within(writeScopes("crud/delete")...)),
		tools.New("covia:copy", "Copy the value at one path, as it is now, to another path below w/ or o/. This needs reading the one and writing the other.",
			func(in copyIn) []caps.Request {
				return []caps.Request{s.needRead("from", in.From, false), needWrite("crud/write", "to", in.To)}
			},
			s.copy, read, tools.Within(writeScopes("crud/write")...)),
	}
}

type readIn struct {
	Path    caps.Path `json:"path" jsonschema:"what to read, for example w/notes/today or [\"w\",\"notes\",\"today\"]"`
	MaxSize int64     `json:"maxSize,omitempty" jsonschema:"the largest JSON to return, in bytes (default 1000000)"`
}

type readOut struct {
	Exists    bool            `json:"exists"`
	Value     json.RawMessage `json:"value,omitzero"`
	Truncated bool            `json:"truncated,omitempty"`
	Size      int64           `json:"size,omitempty"`
}

func (s *space) read(ctx context.Context, call tools.Call, in readIn) (out readOut, err error) {
	if err := bounded("maxSize", &in.MaxSize, defaultMaxSize, 1, largestMaxSize); err != nil {
		return readOut{}, err
	}
	err = s.view(ctx, call, in.Path, func(_ string, v view) error {
		out = readOut{Exists: v.rev != 0}
		if v.rev == 0 {
			return nil
		}
		text := &sink{limit: in.MaxSize}
		if err := s.tree.stream(ctx, v.node, text); err != nil {
			return err
		}
		out.Value = text.buf
		if text.over() {
			out = readOut{Exists: true, Value: json.RawMessage("null"), Truncated: true, Size: text.size}
		}
		return nil
	})
	return out, err
}

type listIn struct {
	Path   caps.Path `json:"path,omitzero" jsonschema:"what to list; without it, the namespaces"`
	Offset int64     `json:"offset,omitempty" jsonschema:"how many to skip (default 0)"`
	Limit  int64     `json:"limit,omitempty" jsonschema:"how many to return (default 1000)"`
}

type listOut struct {
	Exists bool              `json:"exists"`
	Type   string            `json:"type,omitempty"`
	Count  *int              `json:"count,omitzero"`
	Keys   []string          `json:"keys,omitzero"`
	Values []json.RawMessage `json:"values,omitzero"`
	Offset *int              `json:"offset,omitzero"`
}

func (s *space) list(ctx context.Context, call tools.Call, in listIn) (listOut, error) {
	if in.Path.Given() {
		r, err := in.Path.Resource()
		if err != nil {
			return listOut{}, err
		}
		if len(r.Segments()) > 0 {
			out, err := s.page(ctx, call, in.Path, in.Offset, in.Limit, page{limit: defaultKeys})
			if out.Offset != nil && *out.Offset == 0 {
				out.Offset = nil
			}
			return out, err
		}
	}
	names := s.namespaces()
	count := len(names)
	return listOut{Exists: true, Type: "Map", Count: &count, Keys: names}, nil
}

type sliceIn struct {
	Path   caps.Path `json:"path" jsonschema:"the array or map to read from"`
	Offset int64     `json:"offset,omitempty" jsonschema:"how many to skip (default 0)"`
	Limit  int64     `json:"limit,omitempty" jsonschema:"how many to return (default 100)"`
}

func (s *space) slice(ctx context.Context, call tools.Call, in sliceIn) (listOut, error) {
	return s.page(ctx, call, in.Path, in.Offset, in.Limit, page{limit: defaultValues, pairs: true})
}

func (s *space) page(ctx context.Context, call tools.Call, path caps.Path, offset, limit int64, p page) (out listOut, err error) {
	if err := bounded("limit", &limit, int64(p.limit), 1, largestLimit); err != nil {
		return listOut{}, err
	}
	if err := bounded("offset", &offset, 0, 0, 1<<40); err != nil {
		return listOut{}, err
	}
	p.offset, p.limit = int(offset), int(limit)
	err = s.view(ctx, call, path, func(at string, v view) error {
		out = listOut{}
		if v.rev == 0 {
			return nil
		}
		l, err := s.tree.listNode(ctx, at, v.node, p)
		if err != nil {
			return err
		}
		out = listOut{Exists: true, Type: l.Type, Keys: l.Keys, Values: l.Values}
		if v.node.container() {
			out.Count, out.Offset = &l.Count, &l.Offset
		}
		return nil
	})
	return out, err
}

type inspectIn struct {
	Paths   json.RawMessage `json:"paths" jsonschema:"a path, or an array of paths"`
	Budget  int64           `json:"budget,omitempty" jsonschema:"bytes of text for all paths together (default 500, at least 10)"`
	Compact *bool           `json:"compact,omitzero" jsonschema:"one line for each value (default true)"`
}

type inspectOut struct {
	Result any `json:"result"`
}

func (s *space) inspect(ctx context.Context, call tools.Call, in inspectIn) (inspectOut, error) {
	if err := bounded("budget", &in.Budget, defaultBudget, smallestBudget, largestBudget); err != nil {
		return inspectOut{}, err
	}
	paths, err := pathList(in.Paths)
	if err != nil {
		return inspectOut{}, err
	}
	r := renderer{t: s.tree, compact: in.Compact == nil || *in.Compact}
	share := max(smallestBudget, int(in.Budget)/len(paths))
	texts := make(map[string]string, len(paths))
	for _, p := range paths {
		text := ""
		err := s.view(ctx, call, p, func(_ string, v view) (err error) {
			if v.rev == 0 {
				text = "/* nothing here */"
				return nil
			}
			text, err = r.render(ctx, v.node, share, 0)
			return err
		})
		if err != nil {
			return inspectOut{}, err
		}
		texts[p.String()] = text
	}
	if strings.HasPrefix(strings.TrimSpace(string(in.Paths)), "[") {
		return inspectOut{texts}, nil
	}
	return inspectOut{texts[paths[0].String()]}, nil
}

type writeIn struct {
	Path  caps.Path       `json:"path" jsonschema:"where to write, below w/ or o/, for example w/notes/today"`
	Value json.RawMessage `json:"value" jsonschema:"any JSON value"`
}

type writeOut struct {
	Written bool `json:"written"`
}

func (s *space) write(ctx context.Context, call tools.Call, in writeIn) (writeOut, error) {
	r, err := target(in.Path, in.Value)
	if err != nil {
		return writeOut{}, err
	}
	if err := s.tree.Put(ctx, call.Owner().String(), r, unwrapped(in.Value)); err != nil {
		return writeOut{}, err
	}
	return writeOut{true}, nil
}

// unwrapped takes an object or array out of a string: models often send one in quotes, and stored
// that way nothing in it could be addressed.
func unwrapped(value json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return value
	}
	inner := strings.TrimSpace(text)
	if (strings.HasPrefix(inner, "{") || strings.HasPrefix(inner, "[")) && json.Valid([]byte(inner)) {
		return json.RawMessage(inner)
	}
	return value
}

type appendIn struct {
	Path  caps.Path       `json:"path" jsonschema:"the array, below w/ or o/"`
	Value json.RawMessage `json:"value" jsonschema:"any JSON value: the new element"`
}

type appendOut struct {
	Appended bool `json:"appended"`
}

func (s *space) append(ctx context.Context, call tools.Call, in appendIn) (appendOut, error) {
	r, err := target(in.Path, in.Value)
	if err != nil {
		return appendOut{}, err
	}
	if err := s.tree.Append(ctx, call.Owner().String(), r, in.Value); err != nil {
		return appendOut{}, err
	}
	return appendOut{true}, nil
}

type deleteIn struct {
	Path caps.Path `json:"path" jsonschema:"what to delete, below w/ or o/"`
}

type deleteOut struct {
	Deleted bool `json:"deleted"`
}

func (s *space) delete(ctx context.Context, call tools.Call, in deleteIn) (deleteOut, error) {
	r, err := in.Path.Resource()
	if err != nil {
		return deleteOut{}, err
	}
	if err := s.tree.Delete(ctx, call.Owner().String(), r); err != nil {
		return deleteOut{}, err
	}
	return deleteOut{true}, nil
}

type copyIn struct {
	From caps.Path `json:"from" jsonschema:"what to copy"`
	To   caps.Path `json:"to" jsonschema:"where to, below w/ or o/"`
}

type copyOut struct {
	Copied bool `json:"copied"`
}

func (s *space) copy(ctx context.Context, call tools.Call, in copyIn) (copyOut, error) {
	from, err := in.From.Resource()
	if err != nil {
		return copyOut{}, err
	}
	to, err := in.To.Resource()
	if err != nil {
		return copyOut{}, err
	}
	owner := call.Owner().String()
	if isStored(from.Segments()[0]) {
		err = s.tree.Copy(ctx, owner, from, owner, to)
	} else {
		err = s.copyMounted(ctx, call, in.From, from, to)
	}
	if err != nil {
		return copyOut{}, err
	}
	return copyOut{true}, nil
}

func (s *space) copyMounted(ctx context.Context, call tools.Call, path caps.Path, from, to caps.Resource) error {
	return s.view(ctx, call, path, func(_ string, v view) error {
		if v.rev == 0 {
			return sourceError(from)
		}
		return s.tree.Put(ctx, call.Owner().String(), to, json.RawMessage(v.node.leaf))
	})
}

// view calls fn with what lies at path, in the tree or in a mount.
func (s *space) view(ctx context.Context, call tools.Call, path caps.Path, fn func(at string, v view) error) error {
	r, err := path.Resource()
	if err != nil {
		return err
	}
	owner, segs := call.Owner().String(), r.Segments()
	if len(segs) == 0 {
		return errors.New("the path names no namespace")
	}
	if isStored(segs[0]) {
		return s.tree.view(ctx, owner, r, func(v view) error { return fn(r.String(), v) })
	}
	mount := s.mounts[segs[0]]
	if mount == nil || segs[0] == "s" {
		return fmt.Errorf("there is no namespace %q", segs[0])
	}
	if did := r.DID(); did != "" {
		owner = did
	}
	var below []string // nil for the whole namespace
	if len(segs) > 1 {
		below = segs[1:]
	}
	value, exists, err := mount(ctx, owner, below)
	if err != nil {
		return fmt.Errorf("read %s: %w", r, err)
	}
	if !exists {
		return fn(r.String(), view{})
	}
	v, err := normal(value)
	if err != nil {
		return fmt.Errorf("read %s: %w", r, err)
	}
	return fn(r.String(), view{node{kind: leafKind, leaf: appendJSON(nil, v)}, 1})
}

func target(path caps.Path, value json.RawMessage) (caps.Resource, error) {
	if len(value) == 0 {
		return caps.Resource{}, errors.New("value is missing: give any JSON value, null included")
	}
	return path.Resource()
}

// bounded puts the default in place of 0 and refuses what is out of bounds.
func bounded(field string, n *int64, byDefault, least, most int64) error {
	if *n == 0 {
		*n = byDefault
	}
	if *n < least || *n > most {
		return fmt.Errorf("%s is %d: it must be from %d to %d", field, *n, least, most)
	}
	return nil
}
