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
	"usher/venue/store"
)

func binaryCount(n uint64) []byte { return binary.AppendUvarint(nil, n) }

// meddler is a store that does something just before a certain Apply.
type meddler struct {
	workspace.Store
	mu     sync.Mutex
	before map[int]func() error // by the number of the Apply
	n      int
}

func (m *meddler) Apply(ctx context.Context, expect map[string]uint64, put map[string][]byte, del []string) (bool, error) {
	m.mu.Lock()
	m.n++
	act := m.before[m.n]
	m.mu.Unlock()
	if act != nil {
		if err := act(); err != nil {
			return false, err
		}
	}
	return m.Store.Apply(ctx, expect, put, del)
}

// TestLostRaces lets a second tree, which shares nothing but the store, change something between
// the reading and the writing of an operation. The outcome must be that of one order or the other.
func TestLostRaces(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, err := store.Open("", nil)
		if err != nil {
			rt.Fatal(err)
		}
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
		if !ran {
			bErr = b.onTree(t, other)
		}
		got := encodeAll(rt, t, other)
		for _, order := range [][2]op{{a, b}, {b, a}} {
			w := before.clone()
			errs := [2]error{order[0].onTwin(w), order[1].onTwin(w)}
			if order[0].String() != a.String() {
				errs[0], errs[1] = errs[1], errs[0]
			}
			if (errs[0] == nil) == (aErr == nil) && (errs[1] == nil) == (bErr == nil) && encodeTwin(w) == got {
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
	was, next := large(300, "old"), large(9000, "new")
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
			return tree.Put(t.Context(), alice, at(t, "w/v"), strings.Repeat("x", 3_000_000))
		}, encode(strings.Repeat("x", 3_000_000))},
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
	s, err := store.Open("", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	opts := &workspace.Options{LeafLimit: 64}
	trees := []*workspace.Tree{workspace.NewTree(s, opts), workspace.NewTree(s, opts)}
	const writers, each = 6, 40
	version := func(n int) json.RawMessage {
		list := make([]any, 300)
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
	if err != nil || records.Count != each || len(records.Keys) != each {
		t.Errorf("records = %d (%d keys), %v; want %d", records.Count, len(records.Keys), err, each)
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
		if len(doc) != 300 || e.N != doc[0].N {
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
