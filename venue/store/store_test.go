package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return s
}

// eachKind runs a test on disk and in memory.
func eachKind(t *testing.T, run func(t *testing.T, s *Store)) {
	t.Run("disk", func(t *testing.T) { run(t, open(t, t.TempDir())) })
	t.Run("memory", func(t *testing.T) { run(t, open(t, "")) })
}

func mustApply(t testing.TB, s *Store, expect map[string]uint64, put map[string][]byte, del ...string) {
	t.Helper()
	ok, err := s.Apply(t.Context(), expect, put, del)
	if err != nil || !ok {
		t.Fatalf("Apply() = %v, %v; want true, nil", ok, err)
	}
}

func mustGet(t testing.TB, s *Store, key string) (string, uint64) {
	t.Helper()
	value, rev, err := s.Get(t.Context(), []byte(key))
	if err != nil {
		t.Fatalf("Get(%q) = %v", key, err)
	}
	return string(value), rev
}

func TestRevisions(t *testing.T) {
	eachKind(t, func(t *testing.T, s *Store) {
		if value, rev := mustGet(t, s, "k"); value != "" || rev != 0 {
			t.Fatalf("Get of an absent key = %q, %d; want nothing at 0", value, rev)
		}
		mustApply(t, s, map[string]uint64{"k": 0}, map[string][]byte{"k": []byte("one")})
		value, first := mustGet(t, s, "k")
		if value != "one" || first == 0 {
			t.Fatalf("Get = %q, %d; want one at a revision", value, first)
		}
		mustApply(t, s, map[string]uint64{"k": first}, map[string][]byte{"k": []byte("one")})
		_, second := mustGet(t, s, "k")
		if second == first {
			t.Errorf("writing the same value again kept revision %d", first)
		}
		mustApply(t, s, nil, nil, "k")
		if _, rev := mustGet(t, s, "k"); rev != 0 {
			t.Errorf("revision after delete = %d, want 0", rev)
		}
		mustApply(t, s, map[string]uint64{"k": 0}, map[string][]byte{"k": nil})
		empty, rev, err := s.Get(t.Context(), []byte("k"))
		if err != nil || empty == nil || len(empty) != 0 || rev == 0 || rev == second {
			t.Errorf("Get of an empty value = %v, %d, %v; want an empty slice at a new revision", empty, rev, err)
		}
	})
}

func TestApplyRefusesStale(t *testing.T) {
	eachKind(t, func(t *testing.T, s *Store) {
		mustApply(t, s, nil, map[string][]byte{"a": []byte("1"), "b": []byte("1")})
		_, a := mustGet(t, s, "a")
		tests := []struct {
			name   string
			expect map[string]uint64
		}{
			{"must be absent but is there", map[string]uint64{"a": 0}},
			{"older revision", map[string]uint64{"a": a - 1}},
			{"must be there but is absent", map[string]uint64{"x": a}},
			{"one of two", map[string]uint64{"a": a, "x": a}},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				ok, err := s.Apply(t.Context(), tt.expect, map[string][]byte{"a": []byte("2"), "new": nil}, []string{"b"})
				if ok || err != nil {
					t.Errorf("Apply(%v) = %v, %v; want false, nil", tt.expect, ok, err)
				}
				if value, _ := mustGet(t, s, "a"); value != "1" {
					t.Errorf("a = %q after a refused Apply", value)
				}
				if _, rev := mustGet(t, s, "new"); rev != 0 {
					t.Error("a refused Apply wrote a key")
				}
				if _, rev := mustGet(t, s, "b"); rev == 0 {
					t.Error("a refused Apply deleted a key")
				}
			})
		}
		mustApply(t, s, map[string]uint64{"a": a, "x": 0}, nil) // conditions alone
	})
}

func TestApplyBounds(t *testing.T) {
	eachKind(t, func(t *testing.T, s *Store) {
		many := func(n int) map[string][]byte {
			put := make(map[string][]byte, n)
			for i := range n {
				put[fmt.Sprintf("k%06d", i)] = nil
			}
			return put
		}
		// The largest that the constants promise must really fit.
		mustApply(t, s, nil, many(MaxApplyKeys))
		mustApply(t, s, nil, map[string][]byte{"big": make([]byte, MaxApplyBytes-3)})
		full := many(MaxApplyKeys)
		for k := range full {
			full[k] = make([]byte, MaxApplyBytes/MaxApplyKeys-len(k))
		}
		mustApply(t, s, nil, full)
		mustApply(t, s, nil, map[string][]byte{strings.Repeat("k", MaxKeyBytes): nil})

		tests := []struct {
			name string
			put  map[string][]byte
			del  []string
			want string
		}{
			{"keys", many(MaxApplyKeys + 1), nil, "10001 keys, at most 10000"},
			{"bytes", map[string][]byte{"big": make([]byte, MaxApplyBytes)}, nil, "1048579 bytes of keys and values, at most 1048576"},
			{"long key", nil, []string{strings.Repeat("k", MaxKeyBytes+1)}, "a key of 32769 bytes, at most 32768"},
			{"empty key", map[string][]byte{"": nil}, nil, "empty key"},
			{"put and delete", map[string][]byte{"a": nil}, []string{"a"}, `"a" is both put and deleted`},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				ok, err := s.Apply(t.Context(), nil, tt.put, tt.del)
				if ok || err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("Apply() = %v, %v; want an error with %q", ok, err, tt.want)
				}
			})
		}
		_, err := s.Apply(t.Context(), nil, many(MaxApplyKeys+1), nil)
		if !errors.Is(err, ErrTooLarge) {
			t.Errorf("Apply() = %v, want ErrTooLarge", err)
		}
	})
}

// TestCounter races writers that increment one value by its revision: none may be lost.
func TestCounter(t *testing.T) {
	eachKind(t, func(t *testing.T, s *Store) {
		const writers, each = 8, 50
		var lost atomic.Int64
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				for n := 0; n < each; {
					value, rev, err := s.Get(t.Context(), []byte("n"))
					if err != nil {
						t.Error(err)
						return
					}
					ok, err := s.Apply(t.Context(), map[string]uint64{"n": rev}, map[string][]byte{"n": append(value, '.')}, nil)
					if err != nil {
						t.Error(err)
						return
					}
					if ok {
						n++
					} else {
						lost.Add(1)
					}
				}
			})
		}
		wg.Wait()
		if value, _ := mustGet(t, s, "n"); len(value) != writers*each {
			t.Errorf("counted %d, want %d", len(value), writers*each)
		}
		t.Logf("%d races lost and repeated", lost.Load())
	})
}

func collectScan(t testing.TB, scan func(context.Context, []byte, []byte, func(k, v []byte) (bool, error)) error, prefix, start string) []string {
	t.Helper()
	var got []string
	err := scan(t.Context(), []byte(prefix), []byte(start), func(k, v []byte) (bool, error) {
		got = append(got, string(k)+"="+string(v))
		return true, nil
	})
	if err != nil {
		t.Fatalf("scan(%q, %q) = %v", prefix, start, err)
	}
	return got
}

func TestScan(t *testing.T) {
	eachKind(t, func(t *testing.T, s *Store) {
		put := map[string][]byte{}
		for _, k := range []string{"a", "a/", "a/1", "a/2", "a/\xff", "a/\xff\xff", "a0", "b", "\xff", "\xff\xff"} {
			put[k] = []byte("v")
		}
		mustApply(t, s, nil, put)
		big := strings.Repeat("x", 5000) // in the value log
		mustApply(t, s, nil, map[string][]byte{"b": []byte(big), "gone": nil})
		mustApply(t, s, nil, nil, "gone")
		tests := []struct {
			name, prefix, start string
			up, down            []string
		}{
			{
				"prefix", "a/", "",
				[]string{"a/=v", "a/1=v", "a/2=v", "a/\xff=v", "a/\xff\xff=v"},
				[]string{"a/\xff\xff=v", "a/\xff=v", "a/2=v", "a/1=v", "a/=v"},
			},
			{
				"start inside", "a/", "a/2",
				[]string{"a/2=v", "a/\xff=v", "a/\xff\xff=v"},
				[]string{"a/2=v", "a/1=v", "a/=v"},
			},
			{
				"start between", "a/", "a/11",
				[]string{"a/2=v", "a/\xff=v", "a/\xff\xff=v"},
				[]string{"a/1=v", "a/=v"},
			},
			{
				"start below the prefix", "a/", "a",
				[]string{"a/=v", "a/1=v", "a/2=v", "a/\xff=v", "a/\xff\xff=v"},
				nil,
			},
			{
				"start above the prefix", "a/", "a0", nil,
				[]string{"a/\xff\xff=v", "a/\xff=v", "a/2=v", "a/1=v", "a/=v"},
			},
			{"large value", "b", "", []string{"b=" + big}, []string{"b=" + big}},
			{"last prefix", "\xff", "", []string{"\xff=v", "\xff\xff=v"}, []string{"\xff\xff=v", "\xff=v"}},
			{"nothing", "c", "", nil, nil},
			{"deleted", "gone", "", nil, nil},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				if diff := cmp.Diff(tt.up, collectScan(t, s.Scan, tt.prefix, tt.start)); diff != "" {
					t.Errorf("Scan (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.down, collectScan(t, s.ScanBack, tt.prefix, tt.start)); diff != "" {
					t.Errorf("ScanBack (-want +got):\n%s", diff)
				}
				for i, got := range collectScan(t, s.ScanKeys, tt.prefix, tt.start) {
					key, _, _ := strings.Cut(tt.up[i], "=")
					if got != key+"=" {
						t.Errorf("ScanKeys[%d] = %q, want %q alone", i, got, key)
					}
				}
			})
		}
		if got := collectScan(t, s.Scan, "", ""); len(got) != 10 {
			t.Errorf("scan of everything found %d keys, want 10", len(got))
		}
		if got := collectScan(t, s.ScanBack, "", ""); len(got) != 10 {
			t.Errorf("scan back of everything found %d keys, want 10", len(got))
		}
	})
}

func TestScanStops(t *testing.T) {
	s := open(t, "")
	put := map[string][]byte{}
	for i := range 500 {
		put[fmt.Sprintf("k%03d", i)] = nil
	}
	mustApply(t, s, nil, put)

	n := 0
	err := s.Scan(t.Context(), nil, nil, func(_, _ []byte) (bool, error) { n++; return n < 3, nil })
	if err != nil || n != 3 {
		t.Errorf("scan that stops at 3 = %v after %d", err, n)
	}
	boom := errors.New("boom")
	if err := s.ScanKeys(t.Context(), nil, nil, func(_, _ []byte) (bool, error) { return true, boom }); !errors.Is(err, boom) {
		t.Errorf("scan = %v, want the callback's error", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n = 0
	err = s.Scan(ctx, nil, nil, func(_, _ []byte) (bool, error) { n++; cancel(); return true, nil })
	if !errors.Is(err, context.Canceled) || n == 500 {
		t.Errorf("scan = %v after %d keys, want it cancelled", err, n)
	}
	// A scan sees one moment.
	n = 0
	err = s.Scan(t.Context(), nil, nil, func(k, _ []byte) (bool, error) {
		n++
		_, err := s.Apply(t.Context(), nil, map[string][]byte{"z" + string(k): nil}, nil)
		return true, err
	})
	if err != nil || n != 500 {
		t.Errorf("scan beside writes = %v after %d keys, want 500", err, n)
	}
}

// TestAgreesWithMap checks random operations against the obvious twin.
func TestAgreesWithMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, err := Open("", nil)
		if err != nil {
			rt.Fatal(err)
		}
		defer s.Close()
		twin := map[string]string{}
		key := rapid.StringOfN(rapid.RuneFrom([]rune{'a', 'b', 0xff}), 1, 3, -1)
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			put, del := map[string][]byte{}, []string(nil)
			for k, v := range rapid.MapOfN(key, rapid.String(), 0, 4).Draw(rt, "put") {
				put[k] = []byte(v)
				twin[k] = v
			}
			if k := key.Draw(rt, "del"); put[k] == nil {
				del = append(del, k)
				delete(twin, k)
			}
			if ok, err := s.Apply(t.Context(), nil, put, del); !ok || err != nil {
				rt.Fatalf("Apply() = %v, %v", ok, err)
			}
			prefix, start := key.Draw(rt, "prefix"), key.Draw(rt, "start")
			up, down := map[string]string{}, map[string]string{}
			for k, v := range twin {
				if !strings.HasPrefix(k, prefix) {
					continue
				}
				if k >= start {
					up[k] = v
				}
				if k <= start {
					down[k] = v
				}
			}
			for _, dir := range []struct {
				name string
				scan func(context.Context, []byte, []byte, func(k, v []byte) (bool, error)) error
				want map[string]string
			}{{"Scan", s.Scan, up}, {"ScanBack", s.ScanBack, down}} {
				got, last := map[string]string{}, ""
				err := dir.scan(t.Context(), []byte(prefix), []byte(start), func(k, v []byte) (bool, error) {
					if last != "" && (dir.name == "Scan") != (last < string(k)) {
						rt.Errorf("%s: %q came after %q", dir.name, k, last)
					}
					last = string(k)
					got[last] = string(v)
					return true, nil
				})
				if err != nil {
					rt.Fatal(err)
				}
				if diff := cmp.Diff(dir.want, got); diff != "" {
					rt.Errorf("%s(%q, %q) (-want +got):\n%s", dir.name, prefix, start, diff)
				}
			}
		}
	})
}

func TestReopen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := open(t, dir)
	mustApply(t, s, nil, map[string][]byte{"k": []byte("v"), "big": make([]byte, 100_000)})
	_, rev := mustGet(t, s, "k")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	if value, again := mustGet(t, s, "k"); value != "v" || again != rev {
		t.Errorf("after reopening k = %q at %d, want v at %d", value, again, rev)
	}
	if value, _ := mustGet(t, s, "big"); len(value) != 100_000 {
		t.Errorf("after reopening big has %d bytes", len(value))
	}
}

func TestOpenTwice(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	_, err := Open(dir, nil)
	want := fmt.Sprintf("open store %q: this process has it open; stop that one first, or use another folder", dir)
	if err == nil || err.Error() != want {
		t.Errorf("second Open = %v, want %s", err, want)
	}
	file := filepath.Join(dir, "KEYREGISTRY")
	if _, err := Open(file, nil); err == nil || strings.Contains(err.Error(), "has it open") {
		t.Errorf("Open of a file = %v, want an error about the file", err)
	}
}

func TestClosed(t *testing.T) {
	s := open(t, t.TempDir())
	block, entered := make(chan struct{}), make(chan struct{})
	mustApply(t, s, nil, map[string][]byte{"k": nil})
	scanned := make(chan error, 1)
	go func() {
		scanned <- s.Scan(t.Context(), nil, nil, func(_, _ []byte) (bool, error) {
			close(entered)
			<-block
			_, _, err := s.Get(t.Context(), []byte("k")) // must fail, not wait for Close
			return true, err
		})
	}()
	<-entered
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	<-s.doneGC // Close has begun
	close(block)
	if err := <-scanned; !errors.Is(err, ErrClosed) {
		t.Errorf("Get during Close = %v, want ErrClosed", err)
	}
	if err := <-closed; err != nil {
		t.Errorf("Close() = %v", err)
	}
	if _, _, err := s.Get(t.Context(), []byte("k")); !errors.Is(err, ErrClosed) {
		t.Errorf("Get = %v, want ErrClosed", err)
	}
	if _, err := s.Apply(t.Context(), nil, map[string][]byte{"k": nil}, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Apply = %v, want ErrClosed", err)
	}
	if err := s.Sync(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Sync = %v, want ErrClosed", err)
	}
	if err := s.Scan(t.Context(), nil, nil, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Scan = %v, want ErrClosed", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close() = %v", err)
	}
}

func TestCollectReclaims(t *testing.T) {
	dir := t.TempDir()
	var s *Store
	// Garbage is known only once memtables became tables, on closing, and compaction has dropped
	// the old versions, for which it wants several tables.
	for session := range 4 {
		s = open(t, dir)
		for range 10 {
			for part := range 8 {
				put := map[string][]byte{}
				for i := range 100 {
					put[fmt.Sprintf("k%d-%d", part, i)] = fmt.Appendf(make([]byte, 5000), "%d", session)
				}
				mustApply(t, s, nil, put)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s = open(t, dir)
	before := vlogBytes(t, dir)
	if err := s.db.Flatten(1); err != nil {
		t.Fatal(err)
	}
	if err := s.collectOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := vlogBytes(t, dir); after >= before {
		t.Errorf("value log has %d bytes after collection, %d before", after, before)
	}
	if value, _ := mustGet(t, s, "k7-99"); !strings.HasSuffix(value, "3") {
		t.Error("collection lost the last value")
	}
}

// vlogBytes sums the value logs that are full.
func vlogBytes(t *testing.T, dir string) (sum int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.vlog"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files[:len(files)-1] { // the newest is as large as it may become
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		sum += info.Size()
	}
	return sum
}

func TestNothingLeaks(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for _, dir := range []string{t.TempDir(), ""} {
		s, err := Open(dir, &Options{Logger: slog.New(slog.DiscardHandler), GCInterval: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		mustApply(t, s, nil, map[string][]byte{"k": nil})
		if err := s.Sync(t.Context()); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSpaces: what lies under one prefix sees nothing of another.
func TestSpaces(t *testing.T) {
	s := open(t, "")
	a, b := s.Under("a/"), s.Under("b/")
	for _, p := range []*Space{a, b} {
		ok, err := p.Apply(t.Context(), map[string]uint64{"k": 0}, map[string][]byte{"k": []byte(p.prefix), "l": nil}, nil)
		if !ok || err != nil {
			t.Fatalf("Apply under %s = %v, %v", p.prefix, ok, err)
		}
	}
	ok, err := a.Apply(t.Context(), nil, nil, []string{"l"})
	if !ok || err != nil {
		t.Fatalf("Apply = %v, %v", ok, err)
	}
	if value, rev, err := b.Get(t.Context(), []byte("k")); string(value) != "b/" || rev == 0 || err != nil {
		t.Errorf("Get = %q, %d, %v; want b/", value, rev, err)
	}
	tests := []struct {
		name  string
		scan  func(context.Context, []byte, []byte, func(k, v []byte) (bool, error)) error
		start string
		want  []string
	}{
		{"a", a.Scan, "", []string{"k=a/"}},
		{"b", b.Scan, "", []string{"k=b/", "l="}},
		{"b back", b.ScanBack, "", []string{"l=", "k=b/"}},
		{"b back from", b.ScanBack, "k", []string{"k=b/"}},
		{"b keys from", b.ScanKeys, "l", []string{"l="}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, collectScan(t, tt.scan, "", tt.start)); diff != "" {
			t.Errorf("scan %s (-want +got):\n%s", tt.name, diff)
		}
	}
	if err := a.Sync(t.Context()); err != nil {
		t.Error(err)
	}
}
