package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"usher/venue/store"
	"usher/venue/store/journal"
	"usher/venue/store/memory"
)

// engines are what every scenario here runs over: a store means the same whatever keeps it.
var engines = []struct {
	name string
	open func(t testing.TB) *store.Store
}{
	{"journal", func(t testing.TB) *store.Store {
		s, err := journal.Open(t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return s.Store
	}},
	{"memory", func(testing.TB) *store.Store { return memory.Open() }},
}

func eachEngine(t *testing.T, scenario func(t *testing.T, s *store.Store)) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) { scenario(t, closing(t, e.open(t))) })
	}
}

func closing(t testing.TB, s *store.Store) *store.Store {
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return s
}

func apply(t rapid.TB, s interface {
	Apply(context.Context, map[string]uint64, map[string][]byte, []string) (string, error)
}, expect map[string]uint64, put map[string][]byte, del ...string,
) {
	t.Helper()
	if moved, err := s.Apply(context.Background(), expect, put, del); moved != "" || err != nil {
		t.Fatalf("Apply() = %q, %v; want it applied", moved, err)
	}
}

func get(t rapid.TB, s interface {
	Get(context.Context, string) ([]byte, uint64, error)
}, key string,
) (string, uint64) {
	t.Helper()
	value, rev, err := s.Get(context.Background(), key)
	if err != nil {
		t.Fatalf("Get(%q) = %v", key, err)
	}
	return string(value), rev
}

func TestRevisions(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store) {
		if value, rev := get(t, s, "k"); value != "" || rev != 0 {
			t.Fatalf("Get of an absent key = %q, %d; want nothing at 0", value, rev)
		}
		apply(t, s, map[string]uint64{"k": 0}, map[string][]byte{"k": []byte("one"), "l": nil})
		value, first := get(t, s, "k")
		if value != "one" || first == 0 {
			t.Fatalf("Get = %q, %d; want one at a revision", value, first)
		}
		if _, beside := get(t, s, "l"); beside != first {
			t.Errorf("one batch gave the revisions %d and %d", first, beside)
		}
		apply(t, s, map[string]uint64{"k": first}, map[string][]byte{"k": []byte("one")})
		_, second := get(t, s, "k")
		if second <= first {
			t.Errorf("writing the same value again gave revision %d after %d", second, first)
		}
		apply(t, s, nil, nil, "k")
		if _, rev := get(t, s, "k"); rev != 0 {
			t.Errorf("revision after delete = %d, want 0", rev)
		}
		apply(t, s, map[string]uint64{"k": 0}, map[string][]byte{"k": nil})
		empty, rev, err := s.Get(t.Context(), "k")
		if err != nil || empty == nil || len(empty) != 0 || rev <= second {
			t.Errorf("Get of an empty value = %v, %d, %v; want an empty slice at a revision above %d", empty, rev, err, second)
		}
		apply(t, s, nil, nil, "never was")
	})
}

// TestCopies: what was read cannot change what is kept.
func TestCopies(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store) {
		apply(t, s, nil, map[string][]byte{"k": []byte("value")})
		read, _, err := s.Get(t.Context(), "k")
		if err != nil || string(read) != "value" {
			t.Fatalf("Get = %q, %v", read, err)
		}
		read[0] = 'Y'
		rows, _, err := s.Page(t.Context(), "", "", 1)
		if err != nil || string(rows[0].Value) != "value" {
			t.Fatalf("Page = %v, %v", rows, err)
		}
		rows[0].Value[0] = 'Z'
		if value, _ := get(t, s, "k"); value != "value" {
			t.Errorf("the value became %q", value)
		}
	})
}

func TestApplyRefusesStale(t *testing.T) {
	eachEngine(t, func(t *testing.T, all *store.Store) {
		s := all.Under("some/")
		apply(t, s, nil, map[string][]byte{"a": []byte("1"), "b": []byte("1")})
		_, a := get(t, s, "a")
		tests := []struct {
			name, moved string
			expect      map[string]uint64
		}{
			{"must be absent but is there", "a", map[string]uint64{"a": 0}},
			{"older revision", "a", map[string]uint64{"a": a - 1}},
			{"must be there but is absent", "x", map[string]uint64{"x": a}},
			{"one of two", "x", map[string]uint64{"a": a, "x": a}},
			{"one of two that must be absent", "a", map[string]uint64{"a": 0, "new": 0}},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				moved, err := s.Apply(t.Context(), tt.expect, map[string][]byte{"a": []byte("2"), "new": nil}, []string{"b"})
				if moved != tt.moved || err != nil {
					t.Errorf("Apply(%v) = %q, %v; want %q to have moved", tt.expect, moved, err, tt.moved)
				}
				if value, _ := get(t, s, "a"); value != "1" {
					t.Errorf("a = %q after a refused Apply", value)
				}
				if _, rev := get(t, s, "a"); rev != a {
					t.Errorf("a has the revision %d after a refused Apply, want %d", rev, a)
				}
				if _, rev := get(t, s, "new"); rev != 0 {
					t.Error("a refused Apply wrote a key")
				}
				if _, rev := get(t, s, "b"); rev == 0 {
					t.Error("a refused Apply deleted a key")
				}
			})
		}
		apply(t, s, map[string]uint64{"a": a, "x": 0}, nil) // expectations alone
	})
}

func TestApplyBounds(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store) {
		many := func(n int) map[string][]byte {
			put := make(map[string][]byte, n)
			for i := range n {
				put[fmt.Sprintf("k%06d", i)] = nil
			}
			return put
		}
		// The largest that the constants promise must really fit.
		apply(t, s, nil, many(store.MaxApplyKeys))
		apply(t, s, nil, map[string][]byte{"big": make([]byte, store.MaxApplyBytes-3)})
		full := many(store.MaxApplyKeys)
		for k := range full {
			full[k] = make([]byte, store.MaxApplyBytes/store.MaxApplyKeys-len(k))
		}
		apply(t, s, nil, full)
		apply(t, s, nil, map[string][]byte{strings.Repeat("k", store.MaxKeyBytes): nil})
		apply(t, s.Under("a/"), nil, map[string][]byte{strings.Repeat("k", store.MaxKeyBytes-2): nil})

		tests := []struct {
			name string
			put  map[string][]byte
			del  []string
			want string
		}{
			{"keys", many(store.MaxApplyKeys + 1), nil, "10001 keys, at most 10000"},
			{"bytes", map[string][]byte{"big": make([]byte, store.MaxApplyBytes)}, nil, "1048579 bytes of keys and values, at most 1048576"},
			{"long key", nil, []string{strings.Repeat("k", store.MaxKeyBytes+1)}, "a key of 2049 bytes, at most 2048"},
			{"empty key", map[string][]byte{"": nil}, nil, "empty key"},
			{"put and delete", map[string][]byte{"a": nil}, []string{"a"}, `"a" is both put and deleted`},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				_, err := s.Apply(t.Context(), nil, tt.put, tt.del)
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("Apply() = %v; want an error with %q", err, tt.want)
				}
				if errors.Is(err, store.ErrUnknown) {
					t.Errorf("Apply() = %v: it is known that nothing was written", err)
				}
			})
		}
		if _, err := s.Under("a/").Apply(t.Context(), map[string]uint64{strings.Repeat("k", store.MaxKeyBytes-1): 0}, nil, nil); !errors.Is(err, store.ErrTooLarge) {
			t.Errorf("Apply() = %v, want ErrTooLarge: the prefix of a space counts", err)
		}
	})
}

// TestCounter races writers that increment one value by its revision: none may be lost.
func TestCounter(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store) {
		const writers, each = 8, 50
		var lost atomic.Int64
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				for n := 0; n < each; {
					value, rev, err := s.Get(t.Context(), "n")
					if err != nil {
						t.Error(err)
						return
					}
					moved, err := s.Apply(t.Context(), map[string]uint64{"n": rev}, map[string][]byte{"n": append(value, '.')}, nil)
					if err != nil {
						t.Error(err)
						return
					}
					switch moved {
					case "":
						n++
					case "n":
						lost.Add(1)
					default:
						t.Errorf("%q moved", moved)
					}
				}
			})
		}
		wg.Wait()
		if value, _ := get(t, s, "n"); len(value) != writers*each {
			t.Errorf("counted %d, want %d", len(value), writers*each)
		}
		t.Logf("%d races lost and repeated", lost.Load())
	})
}

// TestSpaces: what lies under one prefix sees nothing of another.
func TestSpaces(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store) {
		a, b := s.Under("a/"), s.Under("b/")
		apply(t, a, map[string]uint64{"k": 0}, map[string][]byte{"k": []byte("of a"), "l": nil})
		apply(t, b, map[string]uint64{"k": 0}, map[string][]byte{"k": []byte("of b"), "l": nil})
		apply(t, a, nil, nil, "l")
		if value, rev := get(t, b, "k"); value != "of b" || rev == 0 {
			t.Errorf("Get = %q, %d; want that of b", value, rev)
		}
		if diff := cmp.Diff([]string{"k=of a"}, all(t, a.Page, "", "", 5)); diff != "" {
			t.Errorf("a (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"k=of b", "l="}, all(t, b.Page, "", "", 1)); diff != "" {
			t.Errorf("b (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"l=", "k=of b"}, all(t, b.PageBack, "", "", 1)); diff != "" {
			t.Errorf("b back (-want +got):\n%s", diff)
		}
		view, err := b.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer view.Close()
		if diff := cmp.Diff([]string{"l="}, all(t, view.Page, "", "l", 1)); diff != "" {
			t.Errorf("snapshot of b (-want +got):\n%s", diff)
		}
	})
}

func TestClosed(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store) {
		apply(t, s, nil, map[string][]byte{"k": nil})
		view, err := s.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer view.Close()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := s.Get(ended, "k"); !errors.Is(err, context.Canceled) {
			t.Errorf("Get = %v, want it cancelled", err)
		}
		// Whatever runs while the store closes either works or says that it is closed.
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for {
					_, _, err := s.Page(t.Context(), "", "", 10)
					if err != nil {
						if !errors.Is(err, store.ErrClosed) {
							t.Errorf("Page during Close = %v", err)
						}
						return
					}
				}
			})
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
		wg.Wait()
		_, _, getErr := s.Get(t.Context(), "k")
		_, applyErr := s.Apply(t.Context(), nil, map[string][]byte{"k": nil}, nil)
		_, _, pageErr := s.PageKeys(t.Context(), "", "", 1)
		_, snapErr := s.Snapshot(t.Context())
		_, _, viewErr := view.Get(t.Context(), "k")
		for what, err := range map[string]error{
			"Get": getErr, "Apply": applyErr, "PageKeys": pageErr, "Snapshot": snapErr,
			"Get of a snapshot": viewErr,
		} {
			if !errors.Is(err, store.ErrClosed) {
				t.Errorf("%s = %v, want ErrClosed", what, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Errorf("second Close() = %v", err)
		}
	})
}
