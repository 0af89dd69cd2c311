package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"usher/venue/store"
)

// TestCut: a journal that ends before what its note, its index or a snapshot knows of it is refused
// by the name of the segment, by whatever is left to know it.
func TestCut(t *testing.T) {
	base := filepath.Join(t.TempDir(), "base")
	j := open(t, base, nil)
	for range 20 { // a segment and some of the next
		put(t, j, map[string]string{"k": strings.Repeat("x", store.MaxApplyBytes-100)})
	}
	if _, err := j.TakeSnapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	shut(t, j)
	all, err := segments(base)
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	last := filepath.Base(all[1].path)
	tear := func(dir string) error { return os.Truncate(filepath.Join(dir, journalDir, last), 2<<20) }
	shorten := func(dir string) error { // behind the record that is cut there
		err := tear(dir)
		var damage *DamageError
		if _, cut := walk([]segment{{filepath.Join(dir, journalDir, last), all[1].seq, all[1].first}}, func(*record) error { return nil }); err != nil || !errors.As(cut, &damage) {
			return errors.Join(errors.New("it is not cut"), err, cut)
		}
		return os.Truncate(damage.File, damage.Offset)
	}
	remove := func(dir string) error { return os.Remove(filepath.Join(dir, journalDir, last)) }
	without := func(names ...string) func(string) error {
		return func(dir string) (err error) {
			for _, name := range names {
				err = errors.Join(err, os.RemoveAll(filepath.Join(dir, name)))
			}
			return err
		}
	}
	tests := []struct {
		name   string
		harm   func(dir string) error
		forget func(dir string) error
		want   string
	}{
		{"cut in a record", tear, without(endsFile, indexDir, snapshotsDir), last + " at byte 1049584: it is cut in the middle of a record: it has 2097152 bytes in place of 16777216"},
		{"cut, by the note", shorten, without(snapshotsDir, indexDir), "the note in journal.json reaches to record 20: it was cut"},
		{"cut, by the index", shorten, without(endsFile, snapshotsDir), "the index reaches to record 20: it was cut"},
		{"cut, by the snapshot", shorten, without(endsFile, indexDir), "snap.zst reaches to record 20: it was cut"},
		{"missing, by the note", remove, without(snapshotsDir, indexDir), last + " at byte 0: the segment is missing"},
		{"missing, by the index", remove, without(endsFile, snapshotsDir), "the index reaches to record 20"},
		{"missing, by the snapshot", remove, without(endsFile, indexDir), "snap.zst reaches to record 20"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "harmed")
			copyFolder(t, base, dir, nil)
			if err := errors.Join(tt.harm(dir), tt.forget(dir)); err != nil {
				t.Fatal(err)
			}
			j, err := Open(dir, nil)
			var damage *DamageError
			if !errors.As(err, &damage) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Open = %v, want %q", err, tt.want)
			}
			if err == nil {
				shut(t, j)
			}
		})
	}
}

// TestReadSegment: a segment that is read without the zeros at its end is, with them, what stands in
// the file.
func TestReadSegment(t *testing.T) {
	const part = 256 << 10
	zero := func(n int) string { return strings.Repeat("\x00", n) }
	full := strings.Repeat("x", part)
	for name, tt := range map[string]struct {
		text string
		most int // bytes that are kept of it
	}{
		"nothing":                {"", 0},
		"zeros":                  {zero(3*part + 9), 0},
		"a little":               {"x" + zero(5*part), part},
		"less than a part":       {"x" + zero(9), 10},
		"a part":                 {full + zero(2*part), part},
		"one byte of the next":   {full + "x" + zero(2*part), 2 * part},
		"zeros at its beginning": {zero(2*part) + "x" + zero(2*part), 3 * part},
		"a gap":                  {full + zero(2*part) + "x" + zero(part+1), 4 * part},
		"no zeros":               {full + full + "x", 2*part + 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := segment{path: filepath.Join(t.TempDir(), "s")}
			if err := os.WriteFile(s.path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			img, err := s.read()
			if err != nil || img.size != int64(len(tt.text)) || len(img.raw) != tt.most {
				t.Fatalf("read() = %d bytes of %d, %v, want %d of %d", len(img.raw), img.size, err, tt.most, len(tt.text))
			}
			whole, err := s.load()
			if err != nil || string(whole) != tt.text {
				t.Errorf("load() = %d bytes, %v, not those of the file", len(whole), err)
			}
		})
	}
}
