package workspace

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

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

// charged returns the tree with what a call moves charged to it.
func (s *space) charged(call tools.Call) *Tree {
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
	t := s.charged(call)
	t.author = &author
	t.sees = func(segs []string) bool {
		return own && set.Check(caps.Need("crud/read", join(segs))).Allowed()
	}
	return t
}

// placeIn is the resource that a field names.
func placeIn(field string, p caps.Path) (caps.Resource, error) {
	if !p.Given() {
		return caps.Resource{}, fmt.Errorf("%s is missing: give a path such as w/notes, as a string or as an array of segments", field)
	}
	r, err := p.Resource()
	if err != nil {
		return r, fmt.Errorf("%s: %w", field, err)
	}
	return r, nil
}

// needRead is what reading a path requires. Without a path, or at the root, only a list can read.
func needRead(field string, p caps.Path, rootToo bool) caps.Request {
	if !p.Given() && rootToo {
		return caps.NeedOn("crud/read", caps.Resource{})
	}
	r, err := placeIn(field, p)
	if err != nil {
		return caps.Invalid(err)
	}
	segs := r.Segments()
	switch {
	case len(segs) == 0 && rootToo:
		return caps.NeedOn("crud/read", r)
	case len(segs) == 0:
		return caps.Invalid(fmt.Errorf("%s names no namespace: begin with w/ or o/", field))
	case segs[0] == "s":
		return caps.Never("crud/read", r.String(), "s/ can never be read, whatever the capabilities hold: secrets are used by the secret operations only.")
	case !isStored(segs[0]) && elsewhere[segs[0]].read == "":
		return caps.Invalid(fmt.Errorf("%s: there is no namespace %q: use w/ or o/", field, segs[0]))
	}
	return caps.NeedOn("crud/read", r)
}

// elsewhere is the namespaces that other operations keep (DESIGN, 4.8): how they are read, which
// these operations leave to those that know what a caller may be shown, and who writes them.
var elsewhere = map[string]struct{ read, written string }{
	"g": {"g/ holds agents: agent:list and agent:info show them", "g/ is written by agent operations only, whatever the capabilities hold."},
	"j": {"j/ holds jobs: grid:jobStatus and grid:jobResult show them", "j/ is written by running operations only, whatever the capabilities hold."},
	"v": {"v/ holds the venue's operations: those that you may call are among your tools", "v/ is the venue's own and is written by nobody else, whatever the capabilities hold."},
	"a": {"a/ holds assets: asset operations show them", "a/ is written by asset operations only, whatever the capabilities hold."},
	"s": {"", "s/ is written by secret operations only, whatever the capabilities hold."},
}

// needWrite is what changing a path requires: never anything outside w/ and o/.
func needWrite(can caps.Ability, field string, p caps.Path) caps.Request {
	r, err := placeIn(field, p)
	if err != nil {
		return caps.Invalid(err)
	}
	segs := r.Segments()
	var why string
	switch {
	case len(segs) == 0:
		why = "A write needs a key below w/ or o/, for example w/my-key."
	case !isStored(segs[0]):
		why = cmp.Or(elsewhere[segs[0]].written, "Only w/ and o/ can be written, whatever the capabilities hold.")
	case len(segs) == 1:
		why = needsKey(segs[0])
	default:
		return caps.NeedOn(can, r)
	}
	return caps.Never(string(can), r.String(), why)
}

func needsKey(namespace string) string {
	return fmt.Sprintf("A write needs a key below %[1]s/, for example %[1]s/my-key.", namespace)
}

// pathList is the paths of covia:inspect: one string, or an array with a path in each string.
func pathList(data json.RawMessage) ([]caps.Path, error) {
	if len(data) == 0 || string(data) == "null" {
		return nil, errors.New("paths is missing: give a path such as w/notes, or an array of paths")
	}
	if data[0] != '[' {
		data = slices.Concat([]byte("["), data, []byte("]"))
	}
	var texts []json.RawMessage
	if err := json.Unmarshal(data, &texts); err != nil {
		return nil, errPaths
	}
	if len(texts) == 0 || len(texts) > maxPaths {
		return nil, fmt.Errorf("paths has %d entries: give 1 to %d", len(texts), maxPaths)
	}
	paths := make([]caps.Path, len(texts))
	for i, text := range texts {
		// The text is read by caps, as for any other path: what it refuses must not be repaired
		// on the way there.
		if text[0] != '"' || paths[i].UnmarshalJSON(text) != nil {
			return nil, errPaths
		}
	}
	return paths, nil
}

const maxPaths = 64 // as many as a row of the ledger shows

var errPaths = errors.New("paths must be a string or an array of strings, each one a path")

func needInspect(data json.RawMessage) []caps.Request {
	paths, err := pathList(data)
	if err != nil {
		return []caps.Request{caps.Invalid(err)}
	}
	needs := make([]caps.Request, len(paths))
	for i, p := range paths {
		needs[i] = needRead("paths", p, false)
	}
	return needs
}

// scopes are the places that an operation can reach, for deciding whether to offer it.
func scopes(can string, least int, namespaces ...string) tools.Option {
	var all []caps.Scope
	for _, ns := range namespaces {
		all = append(all, caps.ScopeUnder(can, ns, least, 0), caps.ScopeForeign(can, ns, least, 0))
	}
	return tools.Within(all...)
}
