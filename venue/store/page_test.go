package store_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"usher/venue/store"
)

type pageFunc = func(ctx context.Context, prefix, from string, limit int) ([]store.Row, string, error)

// all walks through pages of a size.
func all(t rapid.TB, page pageFunc, prefix, from string, limit int) (rows []string) {
	t.Helper()
	for {
		got, next, err := page(context.Background(), prefix, from, limit)
		if err != nil {
			t.Fatalf("page(%q, %q) = %v", prefix, from, err)
		}
		if len(got) > limit {
			t.Fatalf("page(%q, %q, %d) has %d rows", prefix, from, limit, len(got))
		}
		for _, r := range got {
			rows = append(rows, r.Key+"="+string(r.Value))
		}
		if from = next; next == "" {
			return rows
		}
	}
}

func TestPage(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store) {
		put := map[string][]byte{}
		for _, k := range []string{"a", "a/", "a/1", "a/2", "a/\xff", "a/\xff\xff", "a0", "b", "\xff", "\xff\xff"} {
			put[k] = []byte("v")
		}
		apply(t, s, nil, put)
		big := strings.Repeat("x", 5000) // in Badger's value log
		apply(t, s, nil, map[string][]byte{"b": []byte(big), "gone": nil})
		apply(t, s, nil, nil, "gone")
		tests := []struct {
			name, prefix, from string
			up, down           []string
		}{
			{
				"prefix", "a/", "",
				[]string{"a/=v", "a/1=v", "a/2=v", "a/\xff=v", "a/\xff\xff=v"},
				[]string{"a/\xff\xff=v", "a/\xff=v", "a/2=v", "a/1=v", "a/=v"},
			},
			{
				"from inside", "a/", "a/2",
				[]string{"a/2=v", "a/\xff=v", "a/\xff\xff=v"},
				[]string{"a/2=v", "a/1=v", "a/=v"},
			},
			{
				"from between", "a/", "a/11",
				[]string{"a/2=v", "a/\xff=v", "a/\xff\xff=v"},
				[]string{"a/1=v", "a/=v"},
			},
			{
				"from below the prefix", "a/", "a",
				[]string{"a/=v", "a/1=v", "a/2=v", "a/\xff=v", "a/\xff\xff=v"},
				nil,
			},
			{
				"from above the prefix", "a/", "a0", nil,
				[]string{"a/\xff\xff=v", "a/\xff=v", "a/2=v", "a/1=v", "a/=v"},
			},
			{"large value", "b", "", []string{"b=" + big}, []string{"b=" + big}},
			{"last prefix", "\xff", "", []string{"\xff=v", "\xff\xff=v"}, []string{"\xff\xff=v", "\xff=v"}},
			{"nothing", "c", "", nil, nil},
			{"deleted", "gone", "", nil, nil},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				for limit := 1; limit <= 6; limit++ {
					if diff := cmp.Diff(tt.up, all(t, s.Page, tt.prefix, tt.from, limit)); diff != "" {
						t.Errorf("Page of %d (-want +got):\n%s", limit, diff)
					}
					if diff := cmp.Diff(tt.down, all(t, s.PageBack, tt.prefix, tt.from, limit)); diff != "" {
						t.Errorf("PageBack of %d (-want +got):\n%s", limit, diff)
					}
				}
				var keys []string
				for k, err := range store.Keys(t.Context(), s, tt.prefix, tt.from) {
					if err != nil {
						t.Fatal(err)
					}
					keys = append(keys, k)
				}
				for i, k := range keys {
					if !strings.HasPrefix(tt.up[i], k+"=") {
						t.Errorf("key %d = %q, want that of %.20q", i, k, tt.up[i])
					}
				}
				if len(keys) != len(tt.up) {
					t.Errorf("Keys = %q", keys)
				}
			})
		}
		if got := all(t, s.Page, "", "", 3); len(got) != 10 {
			t.Errorf("all pages have %d keys, want 10", len(got))
		}
		if got := all(t, s.PageBack, "", "", 3); len(got) != 10 {
			t.Errorf("all pages back have %d keys, want 10", len(got))
		}
		if _, _, err := s.Page(t.Context(), "", "", 0); err == nil {
			t.Error("a page of no rows is no error")
		}
	})
}

// TestPageBytes: a page of large values ends long before its limit.
func TestPageBytes(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store) {
		const each = 300_000
		for i := range 10 {
			apply(t, s, nil, map[string][]byte{fmt.Sprint(i): make([]byte, each)})
		}
		for name, page := range map[string]pageFunc{"Page": s.Page, "PageBack": s.PageBack} {
			rows, next, err := page(t.Context(), "", "", 1000)
			if err != nil || len(rows) != store.MaxPageBytes/each+1 || next == "" {
				t.Errorf("%s has %d rows, next %q, %v", name, len(rows), next, err)
			}
			if got := all(t, page, "", "", 1000); len(got) != 10 {
				t.Errorf("%s: %d rows in all pages", name, len(got))
			}
		}
		if keys, next, err := s.PageKeys(t.Context(), "", "", 1000); len(keys) != 10 || next != "" || err != nil {
			t.Errorf("PageKeys = %q, %q, %v", keys, next, err)
		}
	})
}

// TestWriteWhileReading: a loop over rows may write, also where it reads, and closing waits for no
// loop. A scan inside the engine would hang, or never end.
func TestWriteWhileReading(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store) {
		put := map[string][]byte{}
		for i := range 700 {
			put[fmt.Sprintf("k%03d", i)] = nil
		}
		apply(t, s, nil, put)
		n := 0
		for row, err := range store.Rows(t.Context(), s, "k", "") {
			if err != nil {
				t.Fatal(err)
			}
			n++
			apply(t, s, nil, map[string][]byte{"copy/" + row.Key: make([]byte, 100_000)}, row.Key)
		}
		if n != 700 {
			t.Errorf("saw %d rows, want 700", n)
		}
		n = 0
		for _, err := range store.Rows(t.Context(), s, "copy/", "") {
			if n++; err == nil && n < 3 {
				continue
			}
			if err := s.Close(); err != nil {
				t.Errorf("Close in a loop = %v", err)
			}
			break
		}
	})
}

func TestSnapshot(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store) {
		apply(t, s, nil, map[string][]byte{"a": []byte("1"), "b": []byte("1")})
		view, err := s.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer view.Close()
		same, err := s.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same.Close()
		for i := range 50 {
			apply(t, s, nil, map[string][]byte{"a": []byte("2"), fmt.Sprint("c", i): nil}, "b")
		}
		if value, rev := get(t, view, "a"); value != "1" || rev == 0 {
			t.Errorf("a = %q at %d, want what it was", value, rev)
		}
		want := []string{"a=1", "b=1"}
		if diff := cmp.Diff(want, all(t, view.Page, "", "", 1)); diff != "" {
			t.Errorf("Page (-want +got):\n%s", diff)
		}
		if keys, next, err := view.PageKeys(t.Context(), "", "b", 9); len(keys) != 1 || next != "" || err != nil {
			t.Errorf("PageKeys = %q, %q, %v", keys, next, err)
		}
		if got := all(t, s.Page, "", "", 7); len(got) != 51 {
			t.Errorf("%d rows now, want 51", len(got))
		}
		view.Close()
		view.Close()
		if _, _, err := view.Get(t.Context(), "a"); err == nil {
			t.Error("a closed snapshot answers")
		}
		if _, _, err := same.Page(t.Context(), "", "", 1); err == nil {
			t.Error("a closed snapshot has pages")
		}
	})
}

// TestAgreesWithMap checks random batches against the obvious twin, with both engines at once: they
// take the same, refuse the same, and show the same, now and in snapshots of earlier moments.
func TestAgreesWithMap(t *testing.T) {
	stores := make([]*store.Store, len(engines))
	for i, e := range engines {
		stores[i] = closing(t, e.open(t))
	}
	run := 0
	key := rapid.StringOfN(rapid.RuneFrom([]rune{'a', 'b', 0xff}), 1, 3, -1)
	rapid.Check(t, func(rt *rapid.T) {
		run++
		twin, old := map[string]string{}, map[string]string(nil)
		spaces, views := make([]*store.Space, len(stores)), make([]store.Snapshot, len(stores))
		for i, s := range stores {
			spaces[i] = s.Under(fmt.Sprintf("%08d/", run))
		}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			put, del, want := map[string][]byte{}, []string(nil), map[string]bool{}
			for k, v := range rapid.MapOfN(key, rapid.String(), 0, 4).Draw(rt, "put") {
				put[k] = []byte(v)
			}
			if k := key.Draw(rt, "del"); put[k] == nil {
				del = append(del, k)
			}
			for _, k := range rapid.SliceOfN(key, 0, 2).Draw(rt, "expect") {
				want[k] = rapid.Bool().Draw(rt, "is there") // right or wrong
			}
			applied := true
			for k, there := range want {
				if _, ok := twin[k]; ok != there {
					applied = false
				}
			}
			for i, s := range spaces {
				expect := map[string]uint64{}
				for k, there := range want {
					_, rev := get(rt, s, k)
					if expect[k] = rev; !there {
						expect[k] = 0
					} else if rev == 0 {
						expect[k] = 1 << 40
					}
				}
				moved, err := s.Apply(t.Context(), expect, put, del)
				if err != nil || (moved == "") != applied {
					rt.Fatalf("%s: Apply(%v) = %q, %v; want applied %v", engines[i].name, expect, moved, err, applied)
				}
				if there, asked := want[moved]; moved != "" && (!asked || there == has(twin, moved)) {
					rt.Fatalf("%s: %q has not moved", engines[i].name, moved)
				}
			}
			if applied {
				for k, v := range put {
					twin[k] = string(v)
				}
				for _, k := range del {
					delete(twin, k)
				}
			}
			if old == nil && rapid.Bool().Draw(rt, "snapshot") {
				old = maps.Clone(twin)
				for i, s := range spaces {
					view, err := s.Snapshot(t.Context())
					if err != nil {
						rt.Fatal(err)
					}
					defer view.Close()
					views[i] = view
				}
			}
			prefix, from, limit := key.Draw(rt, "prefix"), key.Draw(rt, "from"), rapid.IntRange(1, 4).Draw(rt, "limit")
			for i, s := range spaces {
				checkPages(rt, engines[i].name, s.Page, s.PageBack, twin, prefix, from, limit)
				if old != nil {
					checkPages(rt, engines[i].name+" snapshot", views[i].Page, views[i].PageBack, old, prefix, from, limit)
				}
			}
		}
	})
}

func has(m map[string]string, k string) bool { _, ok := m[k]; return ok }

func checkPages(t rapid.TB, name string, up, down pageFunc, twin map[string]string, prefix, from string, limit int) {
	t.Helper()
	var wantUp, wantDown []string
	for _, k := range slices.Sorted(maps.Keys(twin)) {
		if !strings.HasPrefix(k, prefix) {
			continue
		}
		if k >= from {
			wantUp = append(wantUp, k+"="+twin[k])
		}
		if k <= from {
			wantDown = append(wantDown, k+"="+twin[k])
		}
	}
	slices.Reverse(wantDown)
	if diff := cmp.Diff(wantUp, all(t, up, prefix, from, limit)); diff != "" {
		t.Fatalf("%s: Page(%q, %q) (-want +got):\n%s", name, prefix, from, diff)
	}
	if diff := cmp.Diff(wantDown, all(t, down, prefix, from, limit)); diff != "" {
		t.Fatalf("%s: PageBack(%q, %q) (-want +got):\n%s", name, prefix, from, diff)
	}
}
