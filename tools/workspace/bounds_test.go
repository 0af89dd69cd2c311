package workspace_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"usher/caps"
	"usher/tools"
	"usher/tools/workspace"
)

// TestInspectWhole pins a value that was cut though it fits.
func TestInspectWhole(t *testing.T) {
	d := newDesk(t, small)
	d.call(t, caps.Unrestricted(), "covia:write", `{"path":"w/x","value":[[],[{"a":null},null,null,false],false]}`)
	want := `{"result":"[[], [{a: null}, null, null, false], false]"}`
	if got := d.call(t, caps.Unrestricted(), "covia:inspect", `{"paths":"w/x","budget":80}`); got != want {
		t.Errorf("inspect = %s, want %s", got, want)
	}
}

// TestInspectDeep: what nests deep costs about as much to print as what lies flat.
func TestInspectDeep(t *testing.T) {
	d := newDesk(t, nil)
	deep := strings.Repeat("[", 100) + `"` + strings.Repeat("x", 250_000) + `"` + strings.Repeat("]", 100)
	if err := d.tree.Put(t.Context(), d.owner.String(), at(t, "o/x"), json.RawMessage(deep)); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := d.call(t, caps.Unrestricted(), "covia:inspect", `{"paths":"o/x"}`)
	runtime.ReadMemStats(&after)
	if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 200 || !strings.Contains(got, "[[xxx") && !strings.Contains(got, `[[\"xxx`) {
		t.Errorf("inspect of %d KiB allocates %d MiB: %.120s", len(deep)>>10, made, got)
	}
}

// TestMetered: what a call moves is counted, and a limit ends reading and writing alike.
func TestMetered(t *testing.T) {
	tree := newTree(t, newStore(t), nil)
	for i := range 200 {
		mustPut(t, tree, fmt.Sprintf("w/all/%03d", i), strings.Repeat("x", 10_000))
	}
	var meter *tools.Meter
	metered := func(limit int64) *workspace.Tree {
		meter = tools.NewMeter(tools.Amounts{Bytes: limit})
		return tree.Metered(meter)
	}
	errSpent := &tools.LimitError{Kind: tools.Bytes}
	tests := []struct {
		name  string
		least int64
		run   func(t *workspace.Tree) error
	}{
		{"read", 10_000, func(w *workspace.Tree) error { _, _, err := w.Get(t.Context(), alice, at(t, "w/all/007")); return err }},
		{"read all", 2_000_000, func(w *workspace.Tree) error { _, _, err := w.Get(t.Context(), alice, at(t, "w")); return err }},
		{"slice", 500_000, func(w *workspace.Tree) error {
			_, err := w.Slice(t.Context(), alice, at(t, "w/all"), 50, 50)
			return err
		}},
		{"list", 200 * 17, func(w *workspace.Tree) error {
			_, err := w.List(t.Context(), alice, at(t, "w/all"), 0, 200)
			return err
		}},
		{"write", 20_000, func(w *workspace.Tree) error {
			return w.Put(t.Context(), alice, at(t, "w/new"), strings.Repeat("y", 20_000))
		}},
		{"append", 20_000, func(w *workspace.Tree) error {
			return w.Append(t.Context(), alice, at(t, "w/log"), strings.Repeat("y", 20_000))
		}},
		{"copy", 20_000, func(w *workspace.Tree) error {
			return w.Copy(t.Context(), alice, at(t, "w/all/007"), alice, at(t, "w/copy"))
		}},
		{"delete", 2, func(w *workspace.Tree) error { return w.Delete(t.Context(), alice, at(t, "w/copy")) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.run(metered(tt.least - 1)); !errors.Is(err, errSpent) {
				t.Errorf("with %d bytes = %v, want the meter's error", tt.least-1, err)
			}
			if spent := meter.Amounts().Bytes; spent > tt.least+2<<20 {
				t.Errorf("went on for %d bytes after the limit of %d", spent, tt.least)
			}
			if err := tt.run(metered(1 << 40)); err != nil || meter.Amounts().Bytes < tt.least {
				t.Errorf("without a limit = %v for %d bytes, want %d or more", err, meter.Amounts().Bytes, tt.least)
			}
		})
	}
	if got := get(t, tree, alice, "w/log"); strings.Count(got, "y") != 20_000 {
		t.Errorf("an append that the meter refused was made: %d bytes", len(got))
	}
}

// keyCounter counts the keys that pages have.
type keyCounter struct {
	workspace.Store
	keys atomic.Int64
}

func (c *keyCounter) Snapshot(ctx context.Context) (workspace.Snapshot, error) {
	s, err := c.Store.Snapshot(ctx)
	return countedSnapshot{s, c}, err
}

type countedSnapshot struct {
	workspace.Snapshot
	of *keyCounter
}

func (s countedSnapshot) Page(ctx context.Context, prefix, from string, limit int) ([]workspace.Row, string, error) {
	rows, next, err := s.Snapshot.Page(ctx, prefix, from, limit)
	s.of.keys.Add(int64(len(rows)))
	return rows, next, err
}

func (s countedSnapshot) PageKeys(ctx context.Context, prefix, from string, limit int) ([]string, string, error) {
	keys, next, err := s.Snapshot.PageKeys(ctx, prefix, from, limit)
	s.of.keys.Add(int64(len(keys)))
	return keys, next, err
}

// TestPagingIsLinear: going through a map by offset reads each key a few times, however large it
// is, and sees each once.
func TestPagingIsLinear(t *testing.T) {
	s := &keyCounter{Store: newStore(t)}
	tree := newTree(t, s, nil)
	const limit = 50
	n := rounds(20_000, 5000)
	for i := range n {
		mustPut(t, tree, fmt.Sprintf("w/all/%06d", i), strings.Repeat("x", 100))
	}
	for name, page := range map[string]func(offset int) []string{
		"list": func(offset int) []string {
			l, err := tree.List(t.Context(), alice, at(t, "w/all"), offset, limit)
			if err != nil {
				t.Fatal(err)
			}
			return l.Keys
		},
		"slice": func(offset int) (keys []string) {
			l, err := tree.Slice(t.Context(), alice, at(t, "w/all"), offset, limit)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range l.Values {
				var pair struct{ Key string }
				if err := json.Unmarshal(v, &pair); err != nil {
					t.Fatal(err)
				}
				keys = append(keys, pair.Key)
			}
			return keys
		},
	} {
		s.keys.Store(0)
		seen := 0
		for offset := 0; offset < n; offset += limit {
			for _, k := range page(offset) {
				if want := fmt.Sprintf("%06d", seen); k != want {
					t.Fatalf("%s: place %d has %s", name, seen, k)
				}
				seen++
			}
		}
		if seen != n {
			t.Errorf("%s saw %d of %d", name, seen, n)
		}
		if read := s.keys.Load(); read > 6*int64(n) {
			t.Errorf("%s read %d keys for %d records", name, read, n)
		}
	}
}

// TestOffsets adds and removes entries between pages at random offsets: what is remembered of
// places never makes a page wrong.
func TestOffsets(t *testing.T) {
	tree := newTree(t, newStore(t), nil)
	var keys []string
	add := func(k string) {
		if i, there := slices.BinarySearch(keys, k); !there {
			keys = slices.Insert(keys, i, k)
		}
		mustPut(t, tree, "w/all/"+k, strings.Repeat("x", 100))
	}
	for i := range 5000 {
		add(fmt.Sprintf("%04d", 2*i))
	}
	rapid.Check(t, func(rt *rapid.T) {
		for range 10 {
			switch k := fmt.Sprintf("%04d", rapid.IntRange(0, 9999).Draw(rt, "key")); rapid.IntRange(0, 3).Draw(rt, "kind") {
			case 0:
				add(k)
			case 1:
				if err := tree.Delete(t.Context(), alice, at(t, "w/all/"+k)); err != nil {
					rt.Fatal(err)
				}
				keys = slices.DeleteFunc(keys, func(other string) bool { return other == k })
			default:
				offset := rapid.IntRange(0, len(keys)+10).Draw(rt, "offset")
				l, err := tree.List(t.Context(), alice, at(t, "w/all"), offset, 5)
				want := keys[min(offset, len(keys)):min(offset+5, len(keys))]
				if err != nil || !slices.Equal(l.Keys, want) {
					rt.Fatalf("at %d are %q, %v; want %q", offset, l.Keys, err, want)
				}
			}
		}
	})
}

// TestBlindWriting: who may write and not read learns from no answer what is there: neither a type
// nor a length nor, where the write does not need it, that there is anything.
func TestBlindWriting(t *testing.T) {
	writes := caps.Of(caps.MustCapability("w/", "crud/write"), caps.MustCapability("o/", "crud/write"), caps.MustCapability("w/mine", "crud"))
	worlds := map[string][]string{
		// What lies at w/it, by what a blind writer may tell apart: a map or nothing, an array that
		// can be added to, and what cannot be written below.
		"map":   {`{}`, `{"x":1}`, `{"x":{"y":{}},"z":[]}`, ""},
		"array": {`[]`, `[1]`, `[1,2,3,4,5,6]`, `[{"x":{}},{"x":1}]`, `[[],[],[]]`},
		"other": {`1`, `"text"`, `null`, `true`},
	}
	calls := [][2]string{
		{"covia:write", `{"path":"w/it","value":1}`},
		{"covia:write", `{"path":"w/it/new","value":1}`},
		{"covia:write", `{"path":"w/it/0","value":1}`},
		{"covia:write", `{"path":"w/it/2","value":null}`},
		{"covia:write", `{"path":"w/it/6","value":1}`},
		{"covia:write", `{"path":"w/it/1/x","value":1}`},
		{"covia:append", `{"path":"w/it","value":1}`},
		{"covia:append", `{"path":"w/it/0","value":1}`},
		{"covia:copy", `{"from":"w/mine/a","to":"w/it/3"}`},
	}
	for _, opts := range []*workspace.Options{nil, {LeafLimit: 4}} {
		for kind, values := range worlds {
			for _, c := range calls {
				first := ""
				for _, v := range values {
					d := newDesk(t, opts)
					d.call(t, caps.Unrestricted(), "covia:write", `{"path":"w/mine/a","value":1}`)
					if v != "" {
						d.call(t, caps.Unrestricted(), "covia:write", `{"path":"w/it","value":`+v+`}`)
					}
					got := d.call(t, writes, c[0], c[1])
					for _, word := range []string{"String", "Number", "Map", "Vector", "Boolean", "Null", "length", "bounds", "array", "behind"} {
						if strings.Contains(got, word) {
							t.Errorf("%s %s on %s tells: %s", c[0], c[1], v, got)
						}
					}
					if first == "" {
						first = got
					}
					if kind == "map" && c[0] == "covia:append" {
						continue // nothing is an array to begin; a map is none
					}
					if got != first {
						t.Errorf("%s %s tells %s from another %s: %s, not %s", c[0], c[1], v, kind, got, first)
					}
				}
			}
		}
	}
	// Where it may read, it is told all.
	d := newDesk(t, nil)
	d.call(t, caps.Unrestricted(), "covia:write", `{"path":"w/mine","value":{"text":"x","list":[1]}}`)
	for input, want := range map[string]string{
		`{"path":"w/mine/text/x","value":1}`: "w/mine/text is a String, so nothing",
		`{"path":"w/mine/list/4","value":1}`: "w/mine/list/4 is out of bounds: the array has length 1",
	} {
		if got := d.call(t, writes, "covia:write", input); !strings.HasPrefix(got, want) {
			t.Errorf("covia:write %s = %s, want %s", input, got, want)
		}
	}
}

// TestBlindCallables: the check of what a name below o/ would become speaks of all of it.
func TestBlindCallables(t *testing.T) {
	d := newDesk(t, &workspace.Options{OnWrite: func(_ context.Context, v any, _ *tools.Meter) error {
		if text := encode(v); strings.Contains(text, "bad") {
			return fmt.Errorf("this cannot run: %s", text)
		}
		return nil
	}})
	d.call(t, caps.Unrestricted(), "covia:write", `{"path":"o/flow","value":{"secret":"plan","steps":[]}}`)
	writes := caps.Of(caps.MustCapability("o/", "crud/write"))
	for input, tells := range map[string]bool{
		`{"path":"o/flow/x","value":"bad"}`: false,
		`{"path":"o/flow","value":"bad"}`:   true, // nothing but what it wrote
		`{"path":"o/new/x","value":"bad"}`:  true,
	} {
		got := d.call(t, writes, "covia:write", input)
		if strings.Contains(got, "plan") || strings.Contains(got, "cannot run") != tells {
			t.Errorf("covia:write %s = %s", input, got)
		}
	}
}
