package badger

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"usher/venue/store"
)

func open(t testing.TB, dir string) *store.Store {
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

func mustApply(t testing.TB, s *store.Store, put map[string][]byte) {
	t.Helper()
	if moved, err := s.Apply(t.Context(), nil, put, nil); moved != "" || err != nil {
		t.Fatalf("Apply() = %q, %v; want it applied", moved, err)
	}
}

func mustGet(t testing.TB, s *store.Store, key string) (string, uint64) {
	t.Helper()
	value, rev, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatalf("Get(%q) = %v", key, err)
	}
	return string(value), rev
}

func TestReopen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := open(t, dir)
	mustApply(t, s, map[string][]byte{"k": []byte("v"), "big": make([]byte, 100_000)})
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

// TestFormat: a folder says in which form it is, and what cannot be read is refused untouched.
func TestFormat(t *testing.T) {
	tests := []struct {
		name   string
		change func(dir string) error
		want   string
	}{
		{"no number", func(dir string) error { return os.Remove(filepath.Join(dir, formatFile)) }, "has no format number: an older version of usher wrote it"},
		{"no number and no MANIFEST", func(dir string) error {
			if err := os.Remove(filepath.Join(dir, formatFile)); err != nil {
				return err
			}
			return os.Remove(filepath.Join(dir, "MANIFEST"))
		}, "has no format number: an older version of usher wrote it"},
		{"of the future", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, formatFile), fmt.Appendf(nil, formatText, Format+1), 0o600)
		}, "has format 4 and this version of usher reads format 3"},
		{"no text of ours", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, formatFile), []byte("1"), 0o600)
		}, "does not say a format number"},
		{"MANIFEST lost", func(dir string) error { return os.Remove(filepath.Join(dir, "MANIFEST")) }, "the folder is damaged"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			mustApply(t, s, map[string][]byte{"k": []byte("v")})
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if err := tt.change(dir); err != nil {
				t.Fatal(err)
			}
			before := listing(t, dir)
			_, err := Open(dir, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("Open = %v, want one line with %q", err, tt.want)
			}
			if after := listing(t, dir); after != before {
				t.Errorf("Open changed the folder from\n%s to\n%s", before, after)
			}
		})
	}
}

// listing is the names and sizes of a folder's files.
func listing(t *testing.T, dir string) string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&out, f.Name(), info.Size())
	}
	return out.String()
}

func TestCollectReclaims(t *testing.T) {
	dir := t.TempDir()
	// Garbage is known only once memtables became tables, on closing, and compaction has dropped
	// the old versions, for which it wants several tables.
	writes := 10
	if testing.Short() {
		writes = 5 // of 4 MB each, in each session
	}
	for session := range 4 {
		s := open(t, dir)
		for range writes {
			for part := range 8 {
				put := map[string][]byte{}
				for i := range 100 {
					put[fmt.Sprintf("k%d-%d", part, i)] = fmt.Appendf(make([]byte, 5000), "%d", session)
				}
				mustApply(t, s, put)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	e, err := openEngine(dir, nil, 10*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	before := vlogBytes(t, dir)
	if err := e.db.Flatten(1); err != nil {
		t.Fatal(err)
	}
	if err := e.collectOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := vlogBytes(t, dir); after >= before {
		t.Errorf("value log has %d bytes after collection, %d before", after, before)
	}
	if value, _, err := e.Get("k7-99"); err != nil || !strings.HasSuffix(string(value), "3") {
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
	e, err := openEngine(t.TempDir(), slog.New(slog.DiscardHandler), time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	s := store.New(e)
	mustApply(t, s, map[string][]byte{"k": nil})
	if err := s.Sync(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestUnknown: a write that was on its way when the engine failed is neither applied nor refused.
func TestUnknown(t *testing.T) {
	e, err := openEngine(t.TempDir(), nil, 10*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	s := store.New(e)
	mustApply(t, s, map[string][]byte{"k": []byte("v")})
	if err := e.db.Close(); err != nil { // as if the disk were gone
		t.Fatal(err)
	}
	moved, err := s.Apply(t.Context(), nil, map[string][]byte{"k": []byte("w")}, nil)
	if moved != "" || !errors.Is(err, store.ErrUnknown) {
		t.Errorf("Apply = %q, %v; want ErrUnknown", moved, err)
	}
	_ = s.Close()
}
