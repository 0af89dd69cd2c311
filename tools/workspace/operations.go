package workspace

import (
	"fmt"

	"usher/caps"
	"usher/tools"
)

// Operations returns the covia operations on tree.
func Operations(tree *Tree) []*tools.Operation {
	s := &space{tree}
	read := scopes("crud/read", 0, "w", "o", "a", "g", "j", "v") // w/ first: what people mean
	return []*tools.Operation{
		tools.New("covia:read", "Read the value at a path. A value that is missing is no error: exists is false. One that is too large is not returned: truncated is true and size says how large it is; use covia:list and covia:slice on it.",
			func(in readIn) []caps.Request { return []caps.Request{needRead("path", in.Path, false)} },
			s.read, tools.ReadOnly(), read),
		tools.New("covia:list", "List what lies directly below a path: the keys of a map, or the values of an array. Without a path, list the namespaces.",
			func(in listIn) []caps.Request { return []caps.Request{needRead("path", in.Path, true)} },
			s.list, tools.ReadOnly(), read),
		tools.New("covia:slice", "Read a page of an array's values or of a map's entries, the latter as {key, value}.",
			func(in sliceIn) []caps.Request { return []caps.Request{needRead("path", in.Path, false)} },
			s.slice, tools.ReadOnly(), read),
		tools.New("covia:inspect", "Show one or more values as readable text that fits into a budget of bytes, with comments for what is left out. Good for a first look at something large.",
			func(in inspectIn) []caps.Request { return needInspect(in.Paths) },
			s.inspect, tools.ReadOnly(), read),
		tools.New("covia:write", "Write a value at a path below w/ or o/, in place of what is there. Maps that are missing on the way are made. A string that holds a JSON object or array is stored as that.",
			func(in writeIn) []caps.Request { return []caps.Request{needWrite("crud/write", "path", in.Path)} },
			s.write, tools.Idempotent(), scopes("crud/write", 1, "w", "o")),
		tools.New("covia:append", "Add a value to the end of the array at a path below w/ or o/. The array is made when there is nothing.",
			func(in appendIn) []caps.Request { return []caps.Request{needWrite("crud/write", "path", in.Path)} },
			s.append, scopes("crud/write", 1, "w", "o")),
		tools.New("covia:delete", "Delete what lies at a path below w/ or o/. Nothing there is no error. In an array it leaves null.",
			func(in deleteIn) []caps.Request { return []caps.Request{needWrite("crud/delete", "path", in.Path)} },
			s.delete, tools.Idempotent(), scopes("crud/delete", 1, "w", "o")),
		tools.New("covia:copy", "Copy the value at one path, as it is now, to another path below w/ or o/. This needs reading the one and writing the other.",
			func(in copyIn) []caps.Request {
				return []caps.Request{needRead("from", in.From, false), needWrite("crud/write", "to", in.To)}
			},
			s.copy, read, scopes("crud/write", 1, "w", "o")),
	}
}

// space is the operations on a tree.
type space struct{ tree *Tree }

// treeFor returns the tree with what a call moves charged to it.
func (s *space) treeFor(call tools.Call) *Tree {
	return &Tree{s.tree.forest, user{meter: call.Authority().Meter()}}
}

// source is the place that a call reads, which needRead has accepted.
func source(call tools.Call, path caps.Path) (caps.Resource, error) {
	r, err := path.Resource()
	if err != nil {
		return r, err
	}
	if ns := r.Segments()[0]; !isStored(ns) {
		return r, &tools.InputError{Operation: call.Operation(), Err: fmt.Errorf("%s is no workspace data: %s", r, elsewhere[ns].read)}
	}
	return r, nil
}

// target is the tree for a call that writes: it hides what lies where the caller may not read. Of a
// namespace of others nothing is shown.
func (s *space) target(call tools.Call, r caps.Resource) *Tree {
	set, author := call.Caps(), call.Authority().Author()
	own := r.DID() == "" || r.DID() == call.Owner().String()
	t := s.treeFor(call)
	t.author = &author
	t.sees = func(segs []string) bool {
		return own && set.Check(caps.Need("crud/read", join(segs))).IsAllowed()
	}
	return t
}
