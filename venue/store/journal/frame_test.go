package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/venue/store"
)

// TestTorn: whichever sectors of the last record did not reach the disk, opening takes it as none,
// keeps all before it, and goes on there.
func TestTorn(t *testing.T) {
	base := filepath.Join(t.TempDir(), "base")
	j := open(t, base, nil)
	fill(t, j, 0, 3)
	want := rowsOf(t, j)
	from := endOf(t, base)
	before := filepath.Join(t.TempDir(), "before")
	copyFolder(t, base, before, nil)
	put(t, j, map[string]string{"last": strings.Repeat("v", 2*sectorSize)})
	to := endOf(t, base)
	shut(t, j)
	raw, err := os.ReadFile(to.last.path)
	if err != nil {
		t.Fatal(err)
	}
	var ends []int64 // of what each sector has of the frame
	for at := from.offset; at < to.offset; {
		at = min((at/sectorSize+1)*sectorSize, to.offset)
		ends = append(ends, at)
	}
	for written := range 1 << len(ends) {
		dir := filepath.Join(t.TempDir(), fmt.Sprint(written))
		copyFolder(t, before, dir, nil)
		at := from.offset
		for n, end := range ends {
			if written>>n&1 == 1 {
				if err := edit(filepath.Join(dir, journalDir, filepath.Base(to.last.path)), at, func(b []byte) { copy(b, raw[at:end]) }, int(end-at)); err != nil {
					t.Fatal(err)
				}
			}
			at = end
		}
		j := open(t, dir, nil)
		got := rowsOf(t, j)
		if _, whole := got["last"]; whole != (written == 1<<len(ends)-1) {
			t.Errorf("sectors %b of the last record: it is there: %t", written, whole)
		}
		if delete(got, "last"); !maps.Equal(want, got) {
			t.Errorf("sectors %b of the last record (-want +got): %s", written, cmp.Diff(want, got))
		}
		put(t, j, map[string]string{"after": "it"})
		got = rowsOf(t, j)
		shut(t, j)
		if diff := cmp.Diff(got, rowsOf(t, open(t, dir, nil))); diff != "" {
			t.Errorf("sectors %b of the last record, after one more (-want +got): %s", written, diff)
		}
	}
}

// TestCreateCut: a folder whose process ended while it was made is made anew.
func TestCreateCut(t *testing.T) {
	for name, left := range map[string][]string{
		"its format alone":       {},
		"a folder of no journal": {journalDir + ".new/"},
		"half a segment":         {journalDir + ".new/" + newFile + "1"},
		"a segment":              {journalDir + ".new/0000000000000000-0000000000000001.wal"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, formatFile), fmt.Appendf(nil, formatText, folderFormat), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, file := range left {
				if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(file)), 0o700); err != nil {
					t.Fatal(err)
				}
				if !strings.HasSuffix(file, "/") {
					if err := os.WriteFile(filepath.Join(dir, file), []byte("half"), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			j := open(t, dir, nil)
			put(t, j, map[string]string{"k": "v"})
			shut(t, j)
			if got := rowsOf(t, open(t, dir, nil)); len(got) != 1 {
				t.Errorf("rows: %v", got)
			}
		})
	}
}

// TestCreateWhole: whoever sees the folder of a journal sees its first segment in it, so that a process
// which ends meanwhile leaves no journal without one.
func TestCreateWhole(t *testing.T) {
	for range 20 {
		dir := filepath.Join(t.TempDir(), journalDir)
		made := make(chan error, 1)
		go func() {
			l, err := createLog(dir)
			made <- errors.Join(err, l.close())
		}()
		for {
			all, err := os.ReadDir(dir)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil || len(all) != 1 || all[0].Name() != "0000000000000000-0000000000000001.wal" {
				t.Fatalf("the folder has %v, %v", all, err)
			}
			break
		}
		if err := <-made; err != nil {
			t.Fatal(err)
		}
	}
}

// TestPlanted: a value that looks like a record of a journal is not taken for one where what is around
// it is damaged, as whoever writes values does not know the salt.
func TestPlanted(t *testing.T) {
	plant := func(salt uint32) string {
		r := record{position: 1000, ops: []store.Op{{Kind: store.OpPut, Key: "planted", Value: []byte("all rights")}}}
		var all []byte
		for range frameAlign { // wherever the value begins
			all, _ = appendFrame(append(all, 0), r.append(nil), 0, salt)
		}
		return string(all)
	}
	dir := t.TempDir()
	j := open(t, dir, nil)
	put(t, j, map[string]string{"k": "v"})
	from := endOf(t, dir)
	put(t, j, map[string]string{"value": plant(0) + plant(^uint32(0))})
	to := endOf(t, dir)
	put(t, j, map[string]string{"known": plant(from.salt)})
	for _, at := range []int64{from.offset, to.offset} {
		if err := edit(from.last.path, at+frameHead-1, func(b []byte) { b[0]++ }, 1); err != nil {
			t.Fatal(err)
		}
	}
	shut(t, j)
	raw, err := from.last.load()
	if err != nil {
		t.Fatal(err)
	}
	for end, planted := range map[int64]bool{to.offset: false, int64(len(raw)): true} { // the second shows that there is something to find
		found := false
		for r := range sound(raw[from.offset:end], from.salt) {
			found = found || r.position == 1000
		}
		if found != planted {
			t.Errorf("up to byte %d a planted record is found: %t", end, found)
		}
	}
}
