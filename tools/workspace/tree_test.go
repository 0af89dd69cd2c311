package workspace_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"usher/caps"
	"usher/tools"
	"usher/tools/workspace"
)

func mustPut(t testing.TB, tree *workspace.Tree, path string, value any) {
	t.Helper()
	if err := tree.Put(t.Context(), alice, at(t, path), value); err != nil {
		t.Fatalf("Put(%s) = %v", path, err)
	}
}

func get(t testing.TB, tree *workspace.Tree, owner, path string) string {
	t.Helper()
	got, rev, err := tree.Get(t.Context(), owner, at(t, path))
	if err != nil {
		t.Fatalf("Get(%s) = %v", path, err)
	}
	if rev == 0 {
		return "nothing"
	}
	return string(got)
}

func TestOwnersAreApart(t *testing.T) {
	tree := newTree(t, newStore(t), nil)
	mustPut(t, tree, "w/x", "alice's")
	if got := get(t, tree, bob, "w/x"); got != "nothing" {
		t.Errorf("bob sees %s", got)
	}
	// A resource that names its owner lies there, whoever asks: the gate decides who may.
	key := "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"
	if err := tree.Put(t.Context(), bob, at(t, key+"/w/x"), 1); err != nil {
		t.Fatal(err)
	}
	if got := get(t, tree, key, "w/x"); got != "1" {
		t.Errorf("w/x of the owner named = %s, want 1", got)
	}
	if got := get(t, tree, bob, "w/x"); got != "nothing" {
		t.Errorf("bob sees %s", got)
	}
	if err := tree.Copy(t.Context(), alice, at(t, "w/x"), bob, at(t, "w/y")); err != nil {
		t.Fatal(err)
	}
	if got := get(t, tree, bob, "w/y"); got != `"alice's"` {
		t.Errorf("copied over = %s", got)
	}
	for _, path := range []string{"g/x", "", "file://x/y"} {
		if err := tree.Put(t.Context(), alice, at(t, path), 1); err == nil {
			t.Errorf("Put(%q) = nil, want an error", path)
		}
		if _, _, err := tree.Get(t.Context(), alice, at(t, path)); err == nil {
			t.Errorf("Get(%q) = nil, want an error", path)
		}
	}
}

// TestOnWrite: whatever changes something below o/ is shown the whole value of the name first.
func TestOnWrite(t *testing.T) {
	for _, limit := range []int{0, 8} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			var shown []string
			tree := newTree(t, newStore(t), &workspace.Options{
				LeafLimit: limit,
				OnWrite: func(_ context.Context, value any, _ *tools.Meter) error {
					text := encode(value)
					shown = append(shown, text)
					if strings.Contains(text, "bad") {
						return errors.New("step 1 names no operation")
					}
					return nil
				},
			})
			r := func(path string) caps.Resource { return at(t, path) }
			ctx := t.Context()
			steps := []struct {
				name    string
				err     error
				refused bool
			}{
				{"put", tree.Put(ctx, alice, r("o/flow"), json.RawMessage(`{"steps":["one"],"name":"a longer text"}`)), false},
				{"deep put", tree.Put(ctx, alice, r("o/flow/steps/0"), "two"), false},
				{"deep put of a bad one", tree.Put(ctx, alice, r("o/flow/steps/0"), "bad"), true},
				{"append", tree.Append(ctx, alice, r("o/flow/steps"), "three"), false},
				{"append of a bad one", tree.Append(ctx, alice, r("o/flow/steps"), "bad"), true},
				{"deep delete", tree.Delete(ctx, alice, r("o/flow/name")), false},
				{"put a bad one", tree.Put(ctx, alice, r("o/worse"), "bad"), true},
				{"elsewhere", tree.Put(ctx, alice, r("w/worse"), "bad"), false},
				{"copy of a bad one", tree.Copy(ctx, alice, r("w/worse"), alice, r("o/flow/steps/0")), true},
				{"delete", tree.Delete(ctx, alice, r("o/flow/none")), false},
			}
			for _, s := range steps {
				if refused := s.err != nil; refused != s.refused {
					t.Errorf("%s = %v, want refused = %v", s.name, s.err, s.refused)
				}
			}
			want := []string{
				`{"name":"a longer text","steps":["one"]}`,
				`{"name":"a longer text","steps":["two"]}`,
				`{"name":"a longer text","steps":["bad"]}`,
				`{"name":"a longer text","steps":["two","three"]}`,
				`{"name":"a longer text","steps":["two","three","bad"]}`,
				`{"steps":["two","three"]}`,
				`"bad"`,
				`{"steps":["bad","three"]}`,
			}
			if diff := cmp.Diff(want, shown); diff != "" {
				t.Errorf("shown (-want +got):\n%s", diff)
			}
			if got := get(t, tree, alice, "o"); got != `{"flow":{"steps":["two","three"]}}` {
				t.Errorf("o = %s", got)
			}
			if err := tree.Put(ctx, alice, r("o/large"), strings.Repeat("x", 300_000)); err == nil {
				t.Error("a value of 300 KB below o/ was taken")
			}
			if err := tree.Delete(ctx, alice, r("o/flow")); err != nil || get(t, tree, alice, "o") != "{}" {
				t.Errorf("Delete(o/flow) = %v", err)
			}
		})
	}
}

func TestRevision(t *testing.T) {
	for _, limit := range []int{0, 8} {
		tree := newTree(t, newStore(t), &workspace.Options{LeafLimit: limit})
		rev := func() uint64 {
			n, err := tree.Revision(t.Context(), alice, at(t, "o/flow"))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		seen := map[uint64]string{rev(): "nothing"}
		if seen[0] == "" {
			t.Error("nothing has a revision")
		}
		for _, step := range []struct {
			name string
			run  func() error
		}{
			{"put", func() error {
				return tree.Put(t.Context(), alice, at(t, "o/flow"), json.RawMessage(`{"steps":[1,2,3],"name":"some text"}`))
			}},
			{"deep put", func() error { return tree.Put(t.Context(), alice, at(t, "o/flow/steps/1"), 7) }},
			{"append", func() error { return tree.Append(t.Context(), alice, at(t, "o/flow/steps"), 7) }},
			{"deep delete", func() error { return tree.Delete(t.Context(), alice, at(t, "o/flow/name")) }},
		} {
			if err := step.run(); err != nil {
				t.Fatal(err)
			}
			if before, ok := seen[rev()]; ok {
				t.Errorf("limit %d: after %s the revision is that after %s", limit, step.name, before)
			}
			seen[rev()] = step.name
		}
		was := rev()
		mustPut(t, tree, "o/other", 1)
		if rev() != was {
			t.Error("writing beside it changed the revision")
		}
	}
}

// TestLarge: one value has a bound, whatever it is made of, and a collection has none.
func TestLarge(t *testing.T) {
	s := newStore(t)
	tree := newTree(t, s, nil)
	fill := func(n int, one func(i int) any) (list []any) {
		for i := range n {
			list = append(list, one(i))
		}
		return list
	}
	records := rounds(5000, 4400)
	for name, v := range map[string]any{
		"text":        strings.Repeat("é<>", 249_000),
		"small parts": fill(450_000, func(int) any { return json.Number("1") }),
		"records": fill(records, func(i int) any {
			return map[string]any{"number": json.Number(fmt.Sprint(i)), "text": strings.Repeat("text ", 20)}
		}),
		"empty arrays": fill(300_000, func(int) any { return []any{} }),
	} {
		if testing.Short() && name != "records" {
			continue // seconds, for the same way through the tree
		}
		mustPut(t, tree, "w/"+name, v)
		if got := get(t, tree, alice, "w/"+name); got != encode(v) {
			t.Errorf("%s comes back as %d bytes", name, len(got))
		}
		if err := tree.Put(t.Context(), alice, at(t, "w/"+name), []any{v, v}); err == nil || !strings.Contains(err.Error(), "at most 1000000 bytes of JSON are possible: write its parts one by one") {
			t.Errorf("twice %s = %v, want an error that says what to do", name, err)
		}
		if err := tree.Copy(t.Context(), alice, at(t, "w/"+name), alice, at(t, "w/copy/of it")); err != nil {
			t.Errorf("Copy(%s) = %v", name, err)
		}
	}
	list := get(t, tree, alice, "w/records")
	for _, part := range []string{"w/all/a", "w/all/b", "w/all/c"} {
		if err := tree.Copy(t.Context(), alice, at(t, "w/records"), alice, at(t, part)); err != nil {
			t.Fatal(err)
		}
	}
	if got := get(t, tree, alice, "w/all"); got != `{"a":`+list+`,"b":`+list+`,"c":`+list+`}` {
		t.Errorf("all comes back as %d bytes", len(got))
	}
	if err := tree.Copy(t.Context(), alice, at(t, "w/all"), alice, at(t, "w/all/d")); err == nil || !strings.Contains(err.Error(), "copy its parts") {
		t.Errorf("Copy into itself = %v, want an error that says what to do", err)
	}
	if err := tree.Copy(t.Context(), alice, at(t, "w/records"), alice, at(t, "w/records/7/again")); err != nil {
		t.Fatal(err)
	}
	if got := get(t, tree, alice, fmt.Sprintf("w/records/7/again/%d/number", records-1)); got != fmt.Sprint(records-1) {
		t.Errorf("copied record = %s", got)
	}
	if _, err := tree.Slice(t.Context(), alice, at(t, "w/all"), 0, 10); err == nil || !strings.Contains(err.Error(), "ask for fewer") {
		t.Errorf("Slice of megabytes = %v, want an error that says what to do", err)
	}
	for _, path := range []string{"w/all", "w/records"} {
		if err := tree.Delete(t.Context(), alice, at(t, path)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tree.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkStore(t, t, s)
}

func TestBounds(t *testing.T) {
	tree := newTree(t, newStore(t), nil)
	tests := []struct {
		name  string
		value any
		want  string
	}{
		{"long key", map[string]any{strings.Repeat("k", 2000+1): strings.Repeat("v", 4096)}, "an object key has 2001 bytes: at most 2000 are possible"},
		{"deep", json.RawMessage(strings.Repeat("[", 200) + strings.Repeat("]", 200)), "nests deeper than 128 levels"},
		{"not JSON", json.RawMessage(`{"a":`), "parse value"},
		{"two values", json.RawMessage(`1 2`), "parse value"},
		{"a key twice", json.RawMessage(`{"a":1,"a":2}`), "parse value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tree.Put(t.Context(), alice, at(t, "w/x"), tt.value)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Put() = %v, want an error with %q", err, tt.want)
			}
		})
	}
	mustPut(t, tree, "w/x", map[string]any{strings.Repeat("k", 2000): strings.Repeat("v", 4096)})
	deep, far := strings.Repeat("[", 128)+strings.Repeat("]", 128), "w"+strings.Repeat("/a", 500)
	mustPut(t, tree, far, json.RawMessage(deep))
	mustPut(t, tree, far+"/0", 1)
	if got := get(t, tree, alice, far); got != "[1]" {
		t.Errorf("what lies 500 deep = %s, want [1]", got)
	}
}

// sweepWatch tells when a marker was removed.
type sweepWatch struct {
	workspace.Store
	swept chan struct{}
}

func (w *sweepWatch) Apply(ctx context.Context, expect map[string]uint64, put map[string][]byte, del []string) (string, error) {
	moved, err := w.Store.Apply(ctx, expect, put, del)
	for _, key := range del {
		if moved == "" && key[0] == 'x' {
			w.swept <- struct{}{}
		}
	}
	return moved, err
}

// TestSweeper: nobody has to ask for garbage to be removed, neither now nor what a crash left.
func TestSweeper(t *testing.T) {
	s := newStore(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	watch := &sweepWatch{s, make(chan struct{}, 100)}
	tree := workspace.NewTree(watch, small)
	mustPut(t, tree, "w/x", []any{"a text of some length", "and another one that is long"})
	if err := tree.Delete(t.Context(), alice, at(t, "w/x")); err != nil {
		t.Fatal(err)
	}
	<-watch.swept
	if err := tree.Close(); err != nil {
		t.Fatal(err)
	}
	mustPut(t, tree, "w/x", []any{"a text of some length", "and another one that is long"})
	if err := tree.Delete(t.Context(), alice, at(t, "w/x")); err != nil {
		t.Fatal(err)
	}
	reborn := workspace.NewTree(watch, small)
	<-watch.swept
	if err := reborn.Close(); err != nil {
		t.Fatal(err)
	}
	checkStore(t, t, s)
}

func TestCancelled(t *testing.T) {
	tree := newTree(t, newStore(t), nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tree.Put(ctx, alice, at(t, "w/x"), 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Put = %v, want it cancelled", err)
	}
	if _, _, err := tree.Get(ctx, alice, at(t, "w/x")); !errors.Is(err, context.Canceled) {
		t.Errorf("Get = %v, want it cancelled", err)
	}
}

// TestInspectFits draws values, budgets and forms: the text never exceeds the budget, and it is
// the whole value if that fits.
func TestInspectFits(t *testing.T) {
	d := newDesk(t, small)
	rapid.Check(t, func(rt *rapid.T) {
		v := value.Draw(rt, "value")
		if err := d.tree.Put(t.Context(), d.owner.String(), at(t, "w/x"), json.RawMessage(encode(v))); err != nil {
			rt.Fatal(err)
		}
		compact := rapid.Bool().Draw(rt, "compact")
		budget := rapid.IntRange(10, 300).Draw(rt, "budget")
		inspect := func(budget int) string {
			out := d.call(t, caps.Unrestricted(), "covia:inspect", fmt.Sprintf(`{"paths":"w/x","budget":%d,"compact":%v}`, budget, compact))
			var got struct{ Result string }
			if err := json.Unmarshal([]byte(out), &got); err != nil {
				rt.Fatalf("%s: %v", out, err)
			}
			return got.Result
		}
		whole, got := inspect(100_000), inspect(budget)
		switch {
		case len(whole) <= budget && got != whole:
			rt.Errorf("%s is cut to %s though it fits into %d", whole, got, budget)
		case len(got) > budget:
			rt.Errorf("%d bytes for a budget of %d: %s", len(got), budget, got)
		case len(whole) > budget && !strings.Contains(got, "/*") && !strings.Contains(got, "…"):
			rt.Errorf("%s is cut to %s in %d, which does not show it", whole, got, budget)
		}
	})
}

func TestInspectLarge(t *testing.T) {
	d := newDesk(t, nil)
	records := map[string]any{}
	for i := range 5000 {
		records[fmt.Sprintf("INV-%04d", i)] = map[string]any{"vendor": "Acme", "amount": 10 * i, "lines": []string{"one", "two"}}
	}
	if err := d.tree.Put(t.Context(), d.owner.String(), at(t, "w/records"), records); err != nil {
		t.Fatal(err)
	}
	got := d.call(t, caps.Unrestricted(), "covia:inspect", `{"paths":"w/records","budget":200}`)
	want := `{"result":"{\"INV-0000\": {amount: 0, lines: [\"one\", \"two\"], vendor: \"Acme\"}, \"INV-0001\": {amount: 10, lines: [\"one\", \"two\"], vendor: \"Acme\"}, /* +4998 more */}"}`
	if got != want {
		t.Errorf("inspect = %s\n   want %s", got, want)
	}
}

func FuzzNode(f *testing.F) {
	f.Add([]byte("1"))
	f.Add([]byte("m0123456789abcdef"))
	f.Add([]byte("c0123456789abcdef\""))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := workspace.DecodeNode(data)
		if err == nil && string(n.Encode()) != string(data) {
			t.Errorf("decode then encode %q = %q", data, n.Encode())
		}
	})
}

// BenchmarkRecord reads and writes one record of a collection of ten and of a hundred thousand.
func BenchmarkRecord(b *testing.B) {
	for _, size := range []int{10, 100_000} {
		tree := newTree(b, newStore(b), nil)
		record := map[string]any{"n": 7, "text": strings.Repeat("text ", 20)}
		for i := range size {
			mustPut(b, tree, fmt.Sprintf("w/map/r%06d", i), record)
			if err := tree.Append(b.Context(), alice, at(b, "w/list"), record); err != nil {
				b.Fatal(err)
			}
		}
		bench := func(name string, run func(i int) error) {
			b.Run(fmt.Sprintf("%s/of=%d", name, size), func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if err := run(i * 7919 % size); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		read := func(path string) error {
			_, rev, err := tree.Get(b.Context(), alice, at(b, path))
			if rev == 0 {
				return fmt.Errorf("nothing at %s, %w", path, err)
			}
			return err
		}
		write := func(path string) error { return tree.Put(b.Context(), alice, at(b, path), record) }
		bench("read/map", func(i int) error { return read(fmt.Sprintf("w/map/r%06d", i)) })
		bench("read/list", func(i int) error { return read(fmt.Sprintf("w/list/%d", i)) })
		bench("write/map", func(i int) error { return write(fmt.Sprintf("w/map/r%06d", i)) })
		bench("write/list", func(i int) error { return write(fmt.Sprintf("w/list/%d", i)) })
		bench("append", func(int) error { return tree.Append(b.Context(), alice, at(b, "w/list"), record) })
		bench("list ten anywhere", func(i int) error {
			_, err := tree.List(b.Context(), alice, at(b, "w/map"), i, 10)
			return err
		})
	}
}
