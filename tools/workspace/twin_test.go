package workspace_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"usher/caps"
	"usher/tools/workspace"
	"usher/venue/store"
	"usher/venue/store/memory"
)

const alice, bob = "did:key:zAlice", "did:key:zBob"

func at(t testing.TB, path string) caps.Resource {
	t.Helper()
	r, err := caps.ParseResource(path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// rounds is how often a test repeats what it looks for, or how much it takes: less
// where little time is given.
func rounds(all, short int) int {
	if testing.Short() {
		return short
	}
	return all
}

func newStore(t testing.TB) *store.Store {
	t.Helper()
	s := memory.Open()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func newTree(t testing.TB, s workspace.Store, opts *workspace.Options) *workspace.Tree {
	t.Helper()
	tree := workspace.NewTree(s, opts)
	t.Cleanup(func() { _ = tree.Close() })
	return tree
}

// small makes nearly everything a branch.
var small = &workspace.Options{LeafLimit: 24}

// twin is the obvious tree: one decoded JSON value for each namespace.
type twin map[string]any

var errTwin = errors.New("refused")

func index(seg string, length int) (int, bool) {
	i, err := strconv.Atoi(seg)
	return i, err == nil && strconv.Itoa(i) == seg && i >= 0 && i < length
}

func (w twin) get(segs []string) (any, bool) {
	v, ok := w[segs[0]]
	if !ok {
		v = map[string]any{}
	}
	for _, seg := range segs[1:] {
		switch c := v.(type) {
		case map[string]any:
			if v, ok = c[seg]; !ok {
				return nil, false
			}
		case []any:
			i, ok := index(seg, len(c))
			if !ok {
				return nil, false
			}
			v = c[i]
		default:
			return nil, false
		}
	}
	return v, true
}

func (w twin) change(segs []string, fn func(old any, ok bool) (any, error)) error {
	old, ok := w[segs[0]]
	if !ok {
		old = map[string]any{}
	}
	v, err := twinChange(old, segs[1:], fn)
	if err == nil {
		w[segs[0]] = v
	}
	return err
}

func twinChange(v any, segs []string, fn func(any, bool) (any, error)) (any, error) {
	if len(segs) == 0 {
		return fn(v, true)
	}
	switch c := v.(type) {
	case map[string]any:
		old, ok := c[segs[0]]
		if !ok {
			v, err := fn(nil, false)
			for _, seg := range slices.Backward(segs[1:]) {
				v = map[string]any{seg: v}
			}
			if err == nil {
				c[segs[0]] = v
			}
			return c, err
		}
		changed, err := twinChange(old, segs[1:], fn)
		if err == nil {
			c[segs[0]] = changed
		}
		return c, err
	case []any:
		i, ok := index(segs[0], len(c))
		if !ok {
			return nil, errTwin
		}
		changed, err := twinChange(c[i], segs[1:], fn)
		if err == nil {
			c[i] = changed
		}
		return c, err
	}
	return nil, errTwin
}

func (w twin) put(segs []string, v any) error {
	return w.change(segs, func(any, bool) (any, error) { return clone(v), nil })
}

func (w twin) append(segs []string, v any) error {
	return w.change(segs, func(old any, ok bool) (any, error) {
		list, isList := old.([]any)
		if ok && !isList {
			return nil, errTwin
		}
		return append(list, clone(v)), nil
	})
}

func (w twin) delete(segs []string) {
	parent, _ := w.get(segs[:len(segs)-1])
	last := segs[len(segs)-1]
	switch c := parent.(type) {
	case map[string]any:
		delete(c, last)
		if len(segs) == 2 {
			w[segs[0]] = c
		}
	case []any:
		if i, ok := index(last, len(c)); ok {
			c[i] = nil
		}
	}
}

func (w twin) copy(from, to []string) error {
	v, ok := w.get(from)
	if !ok {
		return errTwin
	}
	return w.put(to, clone(v))
}

func clone(v any) any {
	switch c := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(c))
		for k, e := range c {
			out[k] = clone(e)
		}
		return out
	case []any:
		out := make([]any, len(c))
		for i, e := range c {
			out[i] = clone(e)
		}
		return out
	}
	return v
}

func (w twin) clone() twin { return twin(clone(map[string]any(w)).(map[string]any)) }

func encode(v any) string {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(buf.String())
}

// op is one random operation.
type op struct {
	Kind     string
	Path, To string
	Value    any
}

func (o op) onTwin(w twin) error {
	segs, to := strings.Split(o.Path, "/"), strings.Split(o.To, "/")
	switch o.Kind {
	case "put":
		return w.put(segs, o.Value)
	case "append":
		return w.append(segs, o.Value)
	case "delete":
		w.delete(segs)
		return nil
	default:
		return w.copy(segs, to)
	}
}

func (o op) onTree(t testing.TB, tree *workspace.Tree) error {
	switch o.Kind {
	case "put":
		return tree.Put(t.Context(), alice, at(t, o.Path), json.RawMessage(encode(o.Value)))
	case "append":
		return tree.Append(t.Context(), alice, at(t, o.Path), json.RawMessage(encode(o.Value)))
	case "delete":
		return tree.Delete(t.Context(), alice, at(t, o.Path))
	default:
		return tree.Copy(t.Context(), alice, at(t, o.Path), alice, at(t, o.To))
	}
}

func (o op) String() string {
	return fmt.Sprintf("%s %s %s %s", o.Kind, o.Path, o.To, encode(o.Value))
}

var (
	segment = rapid.SampledFrom([]string{"a", "b", "c", "0", "1", "2", "01", "é"})
	scalar  = rapid.OneOf(
		rapid.Just(any(nil)),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.SampledFrom([]string{"0", "1.0", "-12e3", "123456789012345678901234567890"}), func(s string) any { return json.Number(s) }),
		rapid.Map(rapid.SampledFrom([]string{"", "a", "<&>\u2028\"\\", "a text that is longer than one leaf may be", "\x00é"}), func(s string) any { return s }),
	)
	value = rapid.Custom(func(t *rapid.T) any { return drawValue(t, 3) })
)

func drawValue(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 3).Draw(t, "kind")
	if depth == 0 || kind < 2 {
		return scalar.Draw(t, "scalar")
	}
	n := rapid.IntRange(0, 4).Draw(t, "n")
	if kind == 2 {
		list := make([]any, n)
		for i := range list {
			list[i] = drawValue(t, depth-1)
		}
		return list
	}
	m := map[string]any{}
	for range n {
		m[rapid.OneOf(segment, rapid.SampledFrom([]string{"", "x/y", "\xff"[:0] + "key"})).Draw(t, "key")] = drawValue(t, depth-1)
	}
	return m
}

func drawPath(t *rapid.T, name string) string {
	segs := rapid.SliceOfN(segment, 1, 4).Draw(t, name)
	ns := rapid.SampledFrom([]string{"w", "w", "w", "o"}).Draw(t, name+" in")
	return ns + "/" + strings.Join(segs, "/")
}

func drawOp(t *rapid.T) op {
	o := op{Kind: rapid.SampledFrom([]string{"put", "put", "append", "append", "delete", "copy"}).Draw(t, "kind"), Path: drawPath(t, "path")}
	switch o.Kind {
	case "put", "append":
		o.Value = value.Draw(t, "value")
	case "copy":
		o.To = drawPath(t, "to")
	}
	return o
}

// TestAgreesWithTwin runs random operations on the tree and on the twin.
func TestAgreesWithTwin(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := memory.Open()
		defer s.Close()
		tree := workspace.NewTree(s, &workspace.Options{LeafLimit: rapid.IntRange(2, 60).Draw(rt, "leaf limit")})
		defer tree.Close()
		w := twin{}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			o := drawOp(rt)
			want, got := o.onTwin(w), o.onTree(t, tree)
			if (want == nil) != (got == nil) {
				rt.Fatalf("%s = %v, the twin says %v", o, got, want)
			}
			checkSame(rt, t, tree, w, drawPath(rt, "look at"))
		}
		checkSame(rt, t, tree, w, "w")
		checkSame(rt, t, tree, w, "o")
		if err := tree.Sweep(t.Context()); err != nil {
			rt.Fatal(err)
		}
		checkStore(rt, t, s)
	})
}

// checkSame compares what both say about a path.
func checkSame(rt rapid.TB, t *testing.T, tree *workspace.Tree, w twin, path string) {
	rt.Helper()
	r := at(t, path)
	want, exists := w.get(strings.Split(path, "/"))
	got, rev, err := tree.Get(t.Context(), alice, r)
	if err != nil {
		rt.Fatalf("Get(%s) = %v", path, err)
	}
	if exists != (rev != 0) {
		rt.Fatalf("Get(%s) says exists = %v, the twin %v", path, rev != 0, exists)
	}
	if exists && string(got) != encode(want) {
		rt.Fatalf("Get(%s) = %s\n      want %s", path, got, encode(want))
	}
	list, err := tree.List(t.Context(), alice, r, 1, 2)
	if err != nil {
		rt.Fatalf("List(%s) = %v", path, err)
	}
	slice, sliceErr := tree.Slice(t.Context(), alice, r, 1, 2)
	switch c := want.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(c))
		keys = keys[min(1, len(keys)):min(3, len(keys))]
		if *list.Count != len(c) || list.Type != "Map" || !slices.Equal(list.Keys, keys) {
			rt.Fatalf("List(%s) = %+v, want %d with %q", path, list, len(c), keys)
		}
		for i, k := range keys {
			pair := strings.TrimSpace(encode(map[string]any{"key": k, "value": c[k]}))
			if sliceErr != nil || string(slice.Values[i]) != pair {
				rt.Fatalf("Slice(%s) = %s, %v; want %s", path, slice.Values, sliceErr, pair)
			}
		}
	case []any:
		page := c[min(1, len(c)):min(3, len(c))]
		if *list.Count != len(c) || list.Type != "Vector" || len(list.Values) != len(page) || len(slice.Values) != len(page) {
			rt.Fatalf("List(%s) = %+v, want %d", path, list, len(c))
		}
		for i, e := range page {
			if string(list.Values[i]) != encode(e) || string(slice.Values[i]) != encode(e) {
				rt.Fatalf("List(%s)[%d] = %s, want %s", path, i, list.Values[i], encode(e))
			}
		}
	default:
		if exists && (sliceErr == nil || list.Type == "Map" || list.Type == "Vector") {
			rt.Fatalf("List(%s) = %+v of a scalar; Slice says %v", path, list, sliceErr)
		}
	}
}

// checkStore walks everything that is reachable: the counts must be right, and nothing else may be
// in the store.
func checkStore(rt rapid.TB, t *testing.T, s *store.Store) {
	rt.Helper()
	all := map[string]string{}
	for row, err := range store.Rows(t.Context(), s, "", "") {
		if err != nil {
			rt.Fatal(err)
		}
		all[row.Key] = string(row.Value)
	}
	keys := slices.Sorted(maps.Keys(all))
	var walk func(id [16]byte, counted bool)
	walk = func(id [16]byte, counted bool) {
		n := uint64(0)
		prefix := "d" + string(id[:])
		first, _ := slices.BinarySearch(keys, prefix)
		for _, k := range keys[first:] {
			if !strings.HasPrefix(k, prefix) {
				break
			}
			n++
			entry, err := workspace.DecodeNode([]byte(all[k]))
			if err != nil {
				rt.Fatalf("%q: %v", k, err)
			}
			delete(all, k)
			if below, stored, counted := entry.Link(); stored {
				walk(below, counted)
			}
		}
		key := "n" + string(id[:])
		if count, ok := all[key]; counted && (ok || n > 0) {
			if count != string(binaryCount(n)) {
				rt.Fatalf("branch %x counts %x, has %d", id, count, n)
			}
			delete(all, key)
		}
	}
	for _, owner := range []string{alice, bob} {
		for _, ns := range []string{"w", "o"} {
			walk(workspace.RootID(owner, ns), true)
		}
	}
	if len(all) > 0 {
		rt.Fatalf("%d keys are reachable from nowhere: %q", len(all), slices.Sorted(maps.Keys(all)))
	}
}
