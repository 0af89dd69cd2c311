package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"usher/venue/store"
)

// open opens a journal that tells what it mends to told.
func open(t testing.TB, dir string, told *[]string) *Journal {
	t.Helper()
	j, err := Open(dir, &Options{Told: func(e Event) {
		if told != nil {
			*told = append(*told, e.Text)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, j) })
	return j
}

func shut(t testing.TB, j *Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Errorf("Close() = %v", err)
	}
}

func put(t testing.TB, j *Journal, rows map[string]string, del ...string) {
	t.Helper()
	batch := make(map[string][]byte)
	for key, value := range rows {
		batch[key] = []byte(value)
	}
	if moved, err := j.Apply(t.Context(), nil, batch, del); moved != "" || err != nil {
		t.Fatalf("Apply() = %q, %v; want it applied", moved, err)
	}
}

// rowsOf are all rows with their revisions.
func rowsOf(t testing.TB, j *Journal) map[string]string {
	t.Helper()
	rows := make(map[string]string)
	for row, err := range store.Rows(t.Context(), j, "", "") {
		if err != nil {
			t.Fatal(err)
		}
		rows[row.Key] = fmt.Sprint(row.Rev, " ", len(row.Value), " ", string(row.Value[:min(20, len(row.Value))]))
	}
	return rows
}

// fill writes some rows, again and again, and removes some, with values of both kinds of the index.
func fill(t testing.TB, j *Journal, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		put(t, j, map[string]string{
			fmt.Sprint("new/", n):     fmt.Sprint("value ", n),
			fmt.Sprint("same/", n%7):  fmt.Sprint("value ", n),
			fmt.Sprint("large/", n%3): fmt.Sprint(n, strings.Repeat("x", 5000)),
		}, fmt.Sprint("new/", n-5))
	}
}

func TestReopen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	j := open(t, dir, nil)
	fill(t, j, 0, 20)
	want := rowsOf(t, j)
	shut(t, j)
	var told []string
	j = open(t, dir, &told)
	if diff := cmp.Diff(want, rowsOf(t, j)); diff != "" || told != nil {
		t.Errorf("after reopening (-want +got): %s%v", diff, told)
	}
	put(t, j, map[string]string{"k": "v"})
	if _, rev, err := j.Get(t.Context(), "k"); rev != 21 || err != nil {
		t.Errorf("the next record has position %d, %v; want 21", rev, err)
	}
}

func TestOpenTwice(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, nil)
	put(t, j, map[string]string{"k": "v"})
	_, err := Open(dir, nil)
	want := fmt.Sprintf("open store %q: this process has it open; stop that one first, or use another folder", dir)
	if err == nil || err.Error() != want {
		t.Errorf("second Open = %v, want %s", err, want)
	}
	r, err := Open(dir, &Options{ReadOnly: true})
	if err != nil {
		t.Fatalf("Open for reading beside it = %v", err)
	}
	defer shut(t, r)
	if value, _, err := r.Get(t.Context(), "k"); string(value) != "v" || err != nil {
		t.Errorf("k = %q, %v", value, err)
	}
	if _, err := r.Apply(t.Context(), nil, map[string][]byte{"k": nil}, nil); !errors.Is(err, ErrReadOnly) {
		t.Errorf("Apply = %v, want ErrReadOnly", err)
	}
	if _, err := Open(filepath.Join(dir, formatFile), nil); err == nil || strings.Contains(err.Error(), "has it open") {
		t.Errorf("Open of a file = %v, want an error about the file", err)
	}
}

// listing is the names and sizes of the files in a folder.
func listing(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		out = append(out, fmt.Sprint(path, " ", info.Size()))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRefused: a folder that cannot be right is refused in one line that names what is wrong, and
// is left as it is.
func TestRefused(t *testing.T) {
	remove := func(name string) func(string) error {
		return func(dir string) error { return os.RemoveAll(filepath.Join(dir, name)) }
	}
	tests := []struct {
		name   string
		change func(dir string) error
		want   string
	}{
		{"no number", remove(formatFile), "journal is there, and the file format is missing"},
		{"of before", func(dir string) error {
			return errors.Join(remove(formatFile)(dir), remove(journalDir)(dir), remove(indexDir)(dir), os.WriteFile(filepath.Join(dir, "MANIFEST"), nil, 0o600))
		}, "an older version of usher wrote this data folder"},
		{"of the future", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, formatFile), fmt.Appendf(nil, formatText, folderFormat+1), 0o600)
		}, "has format 6 and this version of usher reads format 5"},
		{"no text of ours", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, formatFile), []byte("4"), 0o600)
		}, "does not say a format number"},
		{"without its journal", remove(journalDir), "the folder journal is missing though index is there"},
		{"with a key alone", func(dir string) error {
			return errors.Join(remove(formatFile)(dir), remove(journalDir)(dir), remove(indexDir)(dir), os.WriteFile(filepath.Join(dir, "venue.key"), nil, 0o600))
		}, "venue.key is there, and the file format is not"},
		{"an empty journal", func(dir string) error {
			return errors.Join(remove(journalDir)(dir), os.Mkdir(filepath.Join(dir, journalDir), 0o700))
		}, "all segments are missing"},
		{"a file of another's in the journal", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, journalDir, "1-1.wal"), nil, 0o600)
		}, "its name is not that of a segment"},
		{"a note that is damaged", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, endsFile), []byte("{"), 0o600)
		}, "the note of where the journal ended"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			j := open(t, dir, nil)
			put(t, j, map[string]string{"k": "v"})
			shut(t, j)
			if err := tt.change(dir); err != nil {
				t.Fatal(err)
			}
			before := listing(t, dir)
			for _, readOnly := range []bool{true, false} {
				_, err := Open(dir, &Options{ReadOnly: readOnly})
				if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("Open = %v, want one line with %q", err, tt.want)
				}
			}
			after := slices.DeleteFunc(listing(t, dir), func(s string) bool { return strings.Contains(s, lockFile) })
			before = slices.DeleteFunc(before, func(s string) bool { return strings.Contains(s, lockFile) })
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("Open changed the folder (-before +after): %s", diff)
			}
		})
	}
}

// TestStopped: after a write of the journal that failed nothing more is acknowledged, and reading
// goes on.
func TestStopped(t *testing.T) {
	dir := t.TempDir()
	j, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	put(t, j, map[string]string{"k": "v"})
	if err := j.log.file.Close(); err != nil { // as if the disk were gone
		t.Fatal(err)
	}
	if _, err := j.Apply(t.Context(), nil, map[string][]byte{"k": []byte("w")}, nil); !errors.Is(err, store.ErrUnknown) || !errors.Is(err, ErrStopped) {
		t.Errorf("the write that failed = %v, want ErrUnknown and ErrStopped", err)
	}
	if _, err := j.Apply(t.Context(), nil, map[string][]byte{"other": nil}, nil); !errors.Is(err, ErrStopped) || errors.Is(err, store.ErrUnknown) {
		t.Errorf("a write after it = %v, want ErrStopped alone", err)
	}
	if value, _, err := j.Get(t.Context(), "k"); string(value) != "v" || err != nil {
		t.Errorf("k = %q, %v, want it to be read", value, err)
	}
	_ = j.Close()
	j = open(t, dir, nil)
	put(t, j, map[string]string{"k": "again"})
}

// TestSegmentRefused: a segment that cannot be allocated refuses the write that needs it, and nothing
// else.
func TestSegmentRefused(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, nil)
	large := strings.Repeat("x", store.MaxApplyBytes-100)
	put(t, j, map[string]string{"first": large})
	var block []string // what the next segment may be called
	for first := range uint64(40) {
		block = append(block, filepath.Join(dir, journalDir, segmentName(segment{seq: 1, first: first})+segmentExt))
	}
	for _, path := range block {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	written, refused := 1, error(nil)
	for ; refused == nil && written < 40; written++ {
		_, refused = j.Apply(t.Context(), nil, map[string][]byte{fmt.Sprint("k", written): []byte(large)}, nil)
	}
	if refused == nil || errors.Is(refused, store.ErrUnknown) || !strings.Contains(refused.Error(), "nothing was written") {
		t.Fatalf("Apply = %v, want it refused", refused)
	}
	for _, path := range block {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 20 {
		put(t, j, map[string]string{fmt.Sprint("after", n): large})
	}
	want := rowsOf(t, j)
	shut(t, j)
	if diff := cmp.Diff(want, rowsOf(t, open(t, dir, nil))); diff != "" {
		t.Errorf("after reopening (-want +got): %s", diff)
	}
	if len(want) != written+19 {
		t.Errorf("there are %d rows, want %d", len(want), written+19)
	}
}

func TestNothingLeaks(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	j, err := Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	put(t, j, map[string]string{"k": "v"})
	shut(t, j)
}

// TestScrub: a row that the index lacks, has too many or has otherwise is found, and the index made
// anew, also while it is written.
func TestScrub(t *testing.T) {
	for name, harm := range map[string]store.Op{
		"lost":     {Kind: store.OpDelete, Key: "same/3"},
		"changed":  {Kind: store.OpPut, Key: "same/3", Value: []byte("other")},
		"too many": {Kind: store.OpPut, Key: "same/9", Value: []byte("other")},
	} {
		t.Run(name, func(t *testing.T) {
			var told []string
			j := open(t, t.TempDir(), &told)
			many := make(map[string]string)
			for n := range 2500 { // more than two pages
				many[fmt.Sprint("many/", n)] = "value"
			}
			put(t, j, many)
			fill(t, j, 0, 10)
			n := 10
			write := func(context.Context) error { // between two pages
				n++
				fill(t, j, n, n+1)
				return nil
			}
			if rows, err := j.scrub(t.Context(), write); err != nil || rows == 0 || told != nil {
				t.Fatalf("scrub of what is right = %d, %v, %q", rows, err, told)
			}
			want := rowsOf(t, j)
			if err := j.index.Write(j.now.position, []store.Op{harm}); err != nil {
				t.Fatal(err)
			}
			if maps.Equal(want, rowsOf(t, j)) {
				t.Fatal("no harm was done")
			}
			if _, err := j.scrub(t.Context(), func(context.Context) error { return nil }); !errors.Is(err, errDiffers) {
				t.Errorf("scrub = %v, want errDiffers", err)
			}
			if diff := cmp.Diff(want, rowsOf(t, j)); diff != "" {
				t.Errorf("the index made anew has (-want +got): %s", diff)
			}
			if len(told) != 1 || !strings.Contains(told[0], "was made anew from the journal") {
				t.Errorf("told are %q", told)
			}
			if _, err := j.scrub(t.Context(), write); err != nil {
				t.Errorf("scrub afterwards = %v", err)
			}
		})
	}
}

// TestSnapshot: what is made anew of a snapshot and the journal after it is what was there, also
// where the newest snapshot is damaged and where segments are in the archive.
func TestSnapshot(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, nil)
	large := strings.Repeat("x", store.MaxApplyBytes-100)
	for n := range 54 { // 3 segments and more
		put(t, j, map[string]string{fmt.Sprint("k", n%5): fmt.Sprint(n, large[9:])})
		if n%25 == 24 {
			if _, err := j.TakeSnapshot(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill(t, j, 0, 10)
	want := rowsOf(t, j)
	shut(t, j)
	packed, err := filepath.Glob(filepath.Join(dir, archiveDir, "*"))
	kept, _ := snapshots(dir)
	if err != nil || len(packed) == 0 || len(kept) != 2 {
		t.Fatalf("archived are %q, snapshots %v, %v", packed, kept, err)
	}
	anew := func(what string) {
		t.Helper()
		if err := os.RemoveAll(filepath.Join(dir, indexDir)); err != nil {
			t.Fatal(err)
		}
		var told []string
		j := open(t, dir, &told)
		if diff := cmp.Diff(want, rowsOf(t, j)); diff != "" || len(told) != 1 {
			t.Errorf("%s: (-want +got): %s%q", what, diff, told)
		}
		shut(t, j)
		r, err := Open(dir, &Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		defer shut(t, r)
		if diff := cmp.Diff(want, rowsOf(t, r)); diff != "" {
			t.Errorf("%s, read only: (-want +got): %s", what, diff)
		}
	}
	anew("from the newest snapshot")
	damage(t, kept[1].path)
	anew("from the snapshot before")
	damage(t, kept[0].path)
	anew("from the archive")
}

// damage changes a byte in the middle of a file.
func damage(t *testing.T, path string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)/2] ^= 4
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestSnapshotAnew: a snapshot of the store goes on in an index that was made anew, unless something
// was written since.
func TestSnapshotAnew(t *testing.T) {
	j := open(t, t.TempDir(), nil)
	put(t, j, map[string]string{"k": "v"})
	view, err := j.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	anew(t, j)
	if value, _, err := view.Get(t.Context(), "k"); string(value) != "v" || err != nil {
		t.Errorf("k = %q, %v in the new index", value, err)
	}
	put(t, j, map[string]string{"k": "w"})
	if value, _, err := view.Get(t.Context(), "k"); string(value) != "v" || err != nil {
		t.Errorf("k = %q, %v after a write", value, err)
	}
	anew(t, j)
	if _, _, err := view.Get(t.Context(), "k"); !errors.Is(err, errAnew) {
		t.Errorf("Get = %v, want errAnew", err)
	}
}

// TestSnapshotOnClose: short lives together make a snapshot as a long one does.
func TestSnapshotOnClose(t *testing.T) {
	dir := t.TempDir()
	large := strings.Repeat("x", store.MaxApplyBytes-100)
	for life := range 3 {
		j := open(t, dir, nil)
		for n := range 30 { // 90 MB in all
			put(t, j, map[string]string{fmt.Sprint("k", n%3): large})
		}
		shut(t, j)
		if kept, err := snapshots(dir); len(kept) != life/2 || err != nil {
			t.Errorf("after life %d there are %d snapshots, %v", life, len(kept), err)
		}
	}
}
