package workspace_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"usher/tools/workspace"
	"usher/venue/store/memory"
)

func binaryCount(n uint64) []byte { return binary.AppendUvarint(nil, n) }

// meddler is a store that does something just before a certain call.
type meddler struct {
	workspace.Store
	every  bool // count all calls; otherwise Apply alone
	mu     sync.Mutex
	before map[int]func() error // by the number of the call
	n      int
}

func (m *meddler) Apply(ctx context.Context, expect map[string]uint64, put map[string][]byte, del []string) (string, error) {
	if err := m.act(); err != nil {
		return "", err
	}
	return m.Store.Apply(ctx, expect, put, del)
}

func (m *meddler) Snapshot(ctx context.Context) (workspace.Snapshot, error) {
	snap, err := m.Store.Snapshot(ctx)
	if err != nil || !m.every {
		return snap, err
	}
	return meddledSnapshot{snap, m}, m.act()
}

type meddledSnapshot struct {
	workspace.Snapshot
	m *meddler
}

func (s meddledSnapshot) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	if err := s.m.act(); err != nil {
		return nil, 0, err
	}
	return s.Snapshot.Get(ctx, key)
}

func (s meddledSnapshot) Page(ctx context.Context, prefix, from string, limit int) ([]workspace.Row, string, error) {
	if err := s.m.act(); err != nil {
		return nil, "", err
	}
	return s.Snapshot.Page(ctx, prefix, from, limit)
}

func (m *meddler) act() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n++
	if act := m.before[m.n]; act != nil {
		return act()
	}
	return nil
}

// rest ends the meddling: the sweeper goes on applying when the operation is over.
func (m *meddler) rest() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = nil
}

// TestLostRaces lets a second tree, which shares nothing but the store, change something between
// the reading and the writing of an operation. The outcome must be that of one order or the other.
func TestLostRaces(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := memory.Open()
		defer s.Close()
		opts := &workspace.Options{LeafLimit: rapid.IntRange(2, 40).Draw(rt, "leaf limit")}
		other := workspace.NewTree(s, opts)
		defer other.Close()
		before := twin{}
		for range rapid.IntRange(0, 6).Draw(rt, "made before") {
			o := drawOp(rt)
			if (o.onTwin(before) == nil) != (o.onTree(t, other) == nil) {
				rt.Fatalf("%s: tree and twin disagree", o)
			}
		}
		a, b := drawOp(rt), drawOp(rt)
		var bErr error
		m := &meddler{Store: s, before: map[int]func() error{}}
		// The sweeper of the new tree applies too; it is idle when there is nothing to sweep.
		if err := other.Sweep(t.Context()); err != nil {
			rt.Fatal(err)
		}
		tree := workspace.NewTree(m, opts)
		defer tree.Close()
		ran := false
		m.before[rapid.IntRange(1, 2).Draw(rt, "at")] = func() error {
			ran, bErr = true, b.onTree(t, other)
			return other.Sweep(t.Context())
		}
		aErr := a.onTree(t, tree)
		m.rest()
		if !ran {
			bErr = b.onTree(t, other)
		}
		got := encodeAll(rt, t, other)
		for _, o := range orders(before, a, b) {
			if (o.a == nil) == (aErr == nil) && (o.b == nil) == (bErr == nil) && encodeTwin(o.after) == got {
				if err := other.Sweep(t.Context()); err != nil {
					rt.Fatal(err)
				}
				checkStore(rt, t, s)
				return
			}
		}
		rt.Fatalf("no order of\n  %s = %v and\n  %s = %v\nexplains %s\nafter %s", a, aErr, b, bErr, got, encodeTwin(before))
	})
}

// TestMeddlingAnywhere runs pairs of operations on one nested value, the second between any two
// accesses of the first to the store, sweeping included.
func TestMeddlingAnywhere(t *testing.T) {
	var doc any
	if err := json.Unmarshal([]byte(`{"b":{"c":{"x":"text one","y":"text two"},"d":["element","another"]},"e":"some text"}`), &doc); err != nil {
		t.Fatal(err)
	}
	next := map[string]any{"c": map[string]any{"z": "another text"}}
	ops := []op{
		{Kind: "get", Path: "w/a"},
		{Kind: "get", Path: "w/a/b/c"},
		{Kind: "get", Path: "w/a/b/c/x"},
		{Kind: "put", Path: "w/a", Value: next},
		{Kind: "put", Path: "w/a/b", Value: next},
		{Kind: "put", Path: "w/a/b/c/x", Value: "new"},
		{Kind: "put", Path: "w/a/b/c/new", Value: next},
		{Kind: "put", Path: "w/a/b/d/1", Value: next},
		{Kind: "append", Path: "w/a/b/d", Value: "third"},
		{Kind: "delete", Path: "w/a"},
		{Kind: "delete", Path: "w/a/b"},
		{Kind: "delete", Path: "w/a/b/c/x"},
		{Kind: "delete", Path: "w/a/b/d/0"},
		{Kind: "copy", Path: "w/a", To: "w/a/b/d/0"},
		{Kind: "copy", Path: "w/a/b", To: "w/f"},
	}
	opts := &workspace.Options{LeafLimit: 8}
	for i, a := range ops {
		for j, b := range ops {
			if b.Kind == "get" || (i+j)%rounds(1, 3) != 0 {
				continue
			}
			t.Run(strings.ReplaceAll(fmt.Sprintf("%s %s and %s %s", a.Kind, a.Path, b.Kind, b.Path), "/", "."), func(t *testing.T) {
				for point, ran := 1, true; ran; point++ {
					ran = meddle(t, opts, doc, a, b, point)
				}
			})
		}
	}
}

// outcome is what the twin says about two operations in one order.
type outcome struct {
	after twin
	a, b  error
	seen  string // what a read, if it is a get
}

// orders returns every outcome that is right when b happens while a runs. A copy reads first and
// writes then, and b may come in between.
func orders(before twin, a, b op) []outcome {
	var out []outcome
	for _, aFirst := range []bool{true, false} {
		o := outcome{after: before.clone()}
		runA := func() {
			if a.Kind != "get" {
				o.a = a.onTwin(o.after)
			} else if v, ok := o.after.get(strings.Split(a.Path, "/")); ok {
				o.seen = encode(v)
			}
		}
		if aFirst {
			runA()
		}
		o.b = b.onTwin(o.after)
		if !aFirst {
			runA()
		}
		out = append(out, o)
	}
	if v, ok := before.get(strings.Split(a.Path, "/")); ok && a.Kind == "copy" {
		o := outcome{after: before.clone()}
		o.b = b.onTwin(o.after)
		o.a = o.after.put(strings.Split(a.To, "/"), clone(v))
		out = append(out, o)
	}
	return out
}

// meddle runs b before the access of a with that number, and reports whether there was one.
func meddle(t *testing.T, opts *workspace.Options, doc any, a, b op, point int) (ran bool) {
	t.Helper()
	s := memory.Open()
	defer s.Close()
	other := workspace.NewTree(s, opts)
	defer other.Close()
	before := twin{"w": map[string]any{"a": clone(doc)}}
	if err := (op{Kind: "put", Path: "w/a", Value: doc}).onTree(t, other); err != nil {
		t.Fatal(err)
	}
	m := &meddler{Store: s, every: true}
	tree := workspace.NewTree(m, opts)
	if err := tree.Close(); err != nil { // its sweeper would count
		t.Fatal(err)
	}
	var bErr error
	m.mu.Lock()
	m.n, m.before = 0, map[int]func() error{point: func() error {
		ran, bErr = true, b.onTree(t, other)
		return other.Sweep(t.Context())
	}}
	m.mu.Unlock()
	var read json.RawMessage
	var aErr error
	if a.Kind == "get" {
		read, _, aErr = tree.Get(t.Context(), alice, at(t, a.Path))
	} else {
		aErr = a.onTree(t, tree)
	}
	if !ran {
		bErr = b.onTree(t, other)
	}
	got := encodeAll(t, t, other)
	for _, o := range orders(before, a, b) {
		if (o.a == nil) == (aErr == nil) && (o.b == nil) == (bErr == nil) && encodeTwin(o.after) == got && o.seen == string(read) {
			if err := other.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			checkStore(t, t, s)
			return ran
		}
	}
	t.Fatalf("access %d: no order of\n  %s = %v and\n  %s = %v\nexplains %s, read %s", point, a, aErr, b, bErr, got, read)
	return false
}

func encodeTwin(w twin) string {
	v, _ := w.get([]string{"w"})
	o, _ := w.get([]string{"o"})
	return encode(v) + encode(o)
}

func encodeAll(rt rapid.TB, t *testing.T, tree *workspace.Tree) string {
	rt.Helper()
	text := ""
	for _, ns := range []string{"w", "o"} {
		got, _, err := tree.Get(t.Context(), alice, at(t, ns))
		if err != nil {
			rt.Fatal(err)
		}
		text += string(got)
	}
	return text
}

var errCrash = errors.New("the process died here")

// TestCrashAnywhere ends the writer before each single step of large writes, and opens the store
// anew: the value is the old one or the new one, and nothing stays behind.
func TestCrashAnywhere(t *testing.T) {
	large := func(n int, text string) json.RawMessage {
		m := map[string]any{}
		for i := range n {
			m[fmt.Sprintf("record-%06d", i)] = map[string]any{"text": text, "list": []any{json.Number("1"), text, strings.Repeat(text, 100)}}
		}
		return json.RawMessage(encode(m))
	}
	was, next := large(rounds(300, 60), "old"), large(rounds(2000, 400), "new")
	tests := []struct {
		name string
		run  func(t *testing.T, tree *workspace.Tree) error
		done string // what w/v is in the end
	}{
		{"overwrite", func(t *testing.T, tree *workspace.Tree) error {
			return tree.Put(t.Context(), alice, at(t, "w/v"), next)
		}, string(next)},
		{"write deep inside", func(t *testing.T, tree *workspace.Tree) error {
			return tree.Put(t.Context(), alice, at(t, "w/v/record-000007"), next)
		}, ""},
		{"copy into itself", func(t *testing.T, tree *workspace.Tree) error {
			if err := tree.Copy(t.Context(), alice, at(t, "w/v"), alice, at(t, "w/v/again")); err != nil {
				return err
			}
			return tree.Copy(t.Context(), alice, at(t, "w/big"), alice, at(t, "w/v"))
		}, string(next)},
		{"delete", func(t *testing.T, tree *workspace.Tree) error {
			return tree.Delete(t.Context(), alice, at(t, "w/v"))
		}, "gone"},
		{"long text", func(t *testing.T, tree *workspace.Tree) error {
			return tree.Put(t.Context(), alice, at(t, "w/v"), strings.Repeat("x", 900_000))
		}, encode(strings.Repeat("x", 900_000))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for crash := 1; ; crash++ {
				s := newStore(t)
				calm := newTree(t, s, nil)
				for path, v := range map[string]json.RawMessage{"w/v": was, "w/big": next, "w/beside": json.RawMessage(`[1]`)} {
					if err := calm.Put(t.Context(), alice, at(t, path), v); err != nil {
						t.Fatal(err)
					}
				}
				_ = calm.Close()
				m := &meddler{Store: s, before: map[int]func() error{}}
				for n := crash; n < crash+100; n++ {
					m.before[n] = func() error { return errCrash }
				}
				dying := workspace.NewTree(m, nil)
				err := tt.run(t, dying)
				_ = dying.Close()
				if err != nil && !errors.Is(err, errCrash) {
					t.Fatal(err)
				}
				reborn := newTree(t, s, nil)
				got, rev, getErr := reborn.Get(t.Context(), alice, at(t, "w/v"))
				if getErr != nil {
					t.Fatal(getErr)
				}
				text := string(got)
				if rev == 0 {
					text = "gone"
				}
				if err := reborn.Sweep(t.Context()); err != nil {
					t.Fatal(err)
				}
				checkStore(t, t, s)
				if err == nil {
					if tt.done != "" && text != tt.done {
						t.Errorf("after %d steps w/v has %d bytes, want %d", crash, len(text), len(tt.done))
					}
					t.Logf("%d steps", crash-1)
					return
				}
				if tt.name != "copy into itself" && text != string(was) {
					t.Errorf("crash before step %d left %d bytes, want the old %d", crash, len(text), len(was))
				}
			}
		})
	}
}

// TestManyAtOnce races all operations on one collection.
func TestManyAtOnce(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := memory.Open()
	defer s.Close()
	opts := &workspace.Options{LeafLimit: 64}
	trees := []*workspace.Tree{workspace.NewTree(s, opts), workspace.NewTree(s, opts)}
	writers, each := 6, rounds(15, 4)
	version := func(n int) json.RawMessage {
		list := make([]any, 100)
		for i := range list {
			list[i] = map[string]any{"n": n, "text": strings.Repeat("x", 50)}
		}
		return json.RawMessage(encode(list))
	}
	var work, readers sync.WaitGroup
	stop := make(chan struct{})
	for i := range writers {
		tree := trees[i%2]
		work.Go(func() {
			for n := range each {
				errs := []error{
					tree.Append(t.Context(), alice, at(t, "w/log"), fmt.Sprintf("%d-%d", i, n)),
					tree.Put(t.Context(), alice, at(t, fmt.Sprintf("w/records/%d/%d", i, n)), map[string]int{"n": n}),
					tree.Put(t.Context(), alice, at(t, "w/doc"), version(i)),
					tree.Put(t.Context(), alice, at(t, fmt.Sprintf("w/temp/%d/x", i)), version(n)),
					tree.Delete(t.Context(), alice, at(t, "w/temp")),
				}
				if err := errors.Join(errs...); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				checkUniform(t, trees[0])
			}
		})
	}
	work.Wait()
	close(stop)
	readers.Wait()
	checkLog(t, trees[0], writers, each)
	records, err := trees[1].List(t.Context(), alice, at(t, "w/records/3"), 0, 1000)
	if err != nil || *records.Count != each || len(records.Keys) != each {
		t.Errorf("records = %d (%d keys), %v; want %d", *records.Count, len(records.Keys), err, each)
	}
	for _, tree := range trees {
		if err := errors.Join(tree.Sweep(t.Context()), tree.Close()); err != nil {
			t.Error(err)
		}
	}
	checkStore(t, t, s)
}

// checkUniform reads the document that is replaced all the time: it must be of one version.
func checkUniform(t *testing.T, tree *workspace.Tree) {
	got, rev, err := tree.Get(t.Context(), alice, at(t, "w/doc"))
	if errors.Is(err, workspace.ErrBusy) || rev == 0 && err == nil {
		return
	}
	var doc []struct{ N int }
	if err := errors.Join(err, json.Unmarshal(got, &doc)); err != nil {
		t.Error(err)
		return
	}
	for _, e := range doc {
		if len(doc) != 100 || e.N != doc[0].N {
			t.Errorf("torn read: %d elements, versions %d and %d", len(doc), doc[0].N, e.N)
			return
		}
	}
}

func checkLog(t *testing.T, tree *workspace.Tree, writers, each int) {
	t.Helper()
	got, _, err := tree.Get(t.Context(), alice, at(t, "w/log"))
	var log []string
	if err := errors.Join(err, json.Unmarshal(got, &log)); err != nil {
		t.Fatal(err)
	}
	next := map[string]int{}
	for _, line := range log {
		who, n, _ := strings.Cut(line, "-")
		if n != fmt.Sprint(next[who]) {
			t.Errorf("writer %s appended %s after %d", who, n, next[who])
		}
		next[who]++
	}
	if len(log) != writers*each {
		t.Errorf("log has %d lines, want %d", len(log), writers*each)
	}
}
