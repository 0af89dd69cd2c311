package agui

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"usher/caps"
	"usher/caps/value"
	"usher/venue"
)

// Bounds of the state of a thread.
const (
	maxState  = 256 << 10 // bytes of all values
	maxValue  = 64 << 10  // of one
	maxShown  = 16        // values
	maxLooked = 256       // calls of a thread that are looked at for it
)

// work is a call that an agent made.
type work struct {
	operation string
	arguments string
}

// mirror is the state of a thread: what its agent wrote below w/, as it lies there now and
// the caller may read it, each value where its path leads.
type mirror struct {
	principal *venue.Principal
	doc       map[string]any
	sizes     map[string]int // of the values by their paths
	told      bool
}

// of looks at what calls wrote, the last first.
func (m *mirror) of(ctx context.Context, calls []work) {
	looked := make(map[string]bool)
	for _, w := range slices.Backward(calls[max(0, len(calls)-maxLooked):]) {
		for _, at := range m.writes(ctx, &w) {
			if path := at.String(); !looked[path] && len(looked) < maxShown {
				looked[path] = true
				m.look(ctx, at)
			}
		}
	}
}

// writes are the places that a call wrote. Which they are says the gate, as the requirements
// of the call, whoever makes it.
func (m *mirror) writes(ctx context.Context, w *work) (places []caps.Resource) {
	ruling, err := m.principal.Decide(ctx, w.operation, json.RawMessage(w.arguments))
	if err != nil {
		return nil
	}
	for need := range ruling.Needs() {
		r := need.Resource()
		if strings.HasPrefix(string(need.Ability()), "crud/") && need.Ability() != "crud/read" && r.DID() == "" && len(r.Segments()) > 1 && r.Segments()[0] == "w" {
			places = append(places, r)
		}
	}
	return places
}

// look reads a place.
func (m *mirror) look(ctx context.Context, at caps.Resource) {
	in := map[string]string{"path": at.String()}
	if m.principal.Still(ctx, "covia:read", in) != nil {
		return
	}
	raw, err := m.principal.Invoke(ctx, "covia:read", in)
	var read struct {
		Exists    bool            `json:"exists"`
		Value     json.RawMessage `json:"value"`
		Truncated bool            `json:"truncated"`
	}
	if err != nil || json.Unmarshal(raw, &read) != nil {
		return
	}
	path := at.String()
	if !read.Exists {
		if _, shown := m.sizes[path]; shown {
			delete(m.sizes, path)
			m.put(at.Segments(), nil, false)
		}
		return
	}
	size := len(read.Value)
	for other, n := range m.sizes {
		if other != path {
			size += n
		}
	}
	_, shown := m.sizes[path]
	v, err := value.Decode(read.Value, value.MaxDepth)
	if err != nil || read.Truncated || len(read.Value) > maxValue || size > maxState || len(m.sizes) >= maxShown && !shown {
		return
	}
	if m.sizes == nil {
		m.doc, m.sizes = make(map[string]any), make(map[string]int)
	}
	m.sizes[path] = len(read.Value)
	m.put(at.Segments(), v, true)
}

// put puts a value where a path leads, or takes it away. What is not shown on the way is an
// empty object.
func (m *mirror) put(path []string, v any, there bool) {
	at := m.doc
	for _, seg := range path[:len(path)-1] {
		next, ok := at[seg].(map[string]any)
		if !ok {
			next = make(map[string]any)
		} else {
			next = maps.Clone(next)
		}
		at[seg] = next
		at = next
	}
	if last := path[len(path)-1]; there {
		at[last] = v
	} else {
		delete(at, last)
	}
}

// patch says what of a document is another in the next one, as operations of RFC 6902.
func patch(from, to map[string]any, at string) (ops []any) {
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if _, stays := to[name]; !stays {
			ops = append(ops, map[string]any{"op": "remove", "path": at + value.Pointer(name)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(to)) {
		old, was := from[name]
		was1, is1 := old.(map[string]any)
		now1, is2 := to[name].(map[string]any)
		switch {
		case !was:
			ops = append(ops, map[string]any{"op": "add", "path": at + value.Pointer(name), "value": to[name]})
		case is1 && is2:
			ops = append(ops, patch(was1, now1, at+value.Pointer(name))...)
		case string(value.Append(nil, old)) != string(value.Append(nil, to[name])):
			ops = append(ops, map[string]any{"op": "replace", "path": at + value.Pointer(name), "value": to[name]})
		}
	}
	return ops
}

// tellState tells what of the state is another by a call: all of it, where none was told yet.
func (v *view) tellState(ctx context.Context, w *work) {
	before := maps.Clone(v.mirror.doc)
	for _, at := range v.mirror.writes(ctx, w) {
		v.mirror.look(ctx, at)
	}
	v.tell(before)
}

// tell tells the state as it is, to who was told how it was before.
func (v *view) tell(before map[string]any) {
	m := v.mirror
	if len(m.doc) == 0 && !m.told {
		return
	}
	if !m.told {
		m.told = true
		v.state(m.doc)
		return
	}
	if ops := patch(before, m.doc, ""); len(ops) > 0 {
		v.delta(ops)
	}
}
