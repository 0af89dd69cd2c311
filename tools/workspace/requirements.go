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

// placeIn is the resource that a field names.
func placeIn(field string, p caps.Path) (caps.Resource, error) {
	if !p.IsPresent() {
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
	if !p.IsPresent() && rootToo {
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
