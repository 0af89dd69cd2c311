package workspace

import (
	"context"
	"errors"
	"fmt"

	"usher/caps"
	"usher/tools"
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
