package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDamage: whatever becomes of one file, either all rows are there, or opening refuses the folder
// and names a file. The folders are one that was closed and one whose process died.
func TestDamage(t *testing.T) {
	base := t.TempDir()
	closed, killed := filepath.Join(base, "closed"), filepath.Join(base, "killed")
	j := open(t, closed, nil)
	large := strings.Repeat("x", store1MB)
	for n := range 52 { // three segments and more, the first of them in the archive
		put(t, j, map[string]string{fmt.Sprint("large/", n%3): fmt.Sprint(n, large)})
		if n == 48 {
			if _, err := j.TakeSnapshot(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill(t, j, 0, 30)
	shut(t, j)
	j = open(t, closed, nil)
	fill(t, j, 30, 60)
	want := rowsOf(t, j)
	copyFolder(t, closed, killed, nil)
	shut(t, j)
	harms := map[string]func(r *rand.Rand, path string, size int64) error{
		"removed": func(_ *rand.Rand, path string, _ int64) error { return os.Remove(path) },
		"emptied": func(_ *rand.Rand, path string, _ int64) error { return os.Truncate(path, 0) },
		"cut":     func(r *rand.Rand, path string, size int64) error { return os.Truncate(path, r.Int64N(size)) },
		"flipped": func(r *rand.Rand, path string, size int64) error {
			return edit(path, r.Int64N(size), func(b []byte) { b[0] ^= 1 << r.IntN(8) }, 1)
		},
		"zeroed": func(r *rand.Rand, path string, size int64) error {
			return edit(path, r.Int64N(size)&^4095, func(b []byte) { clear(b) }, 4096)
		},
	}
	points, oneIn := 1, 20
	if !testing.Short() {
		points, oneIn = 1, 3
	}
	r := rand.New(rand.NewPCG(1, uint64(points)))
	refused, mended := 0, 0
	final := []map[string]uint64{sums(t, closed), sums(t, killed)}
	for _, from := range []string{closed, killed} {
		for _, file := range files(t, from) {
			for _, name := range slices.Sorted(maps.Keys(harms)) {
				for point := range points {
					info, err := os.Stat(filepath.Join(from, file))
					if err != nil {
						t.Fatal(err)
					}
					archived := strings.HasPrefix(file, archiveDir)
					always := from == killed || !testing.Short()
					always = always && (archived || name == "emptied" && (strings.HasPrefix(file, journalDir) || filepath.Base(file) == "MANIFEST"))
					if info.Size() == 0 || r.IntN(oneIn) > 0 && !always || point > 0 && (name == "removed" || name == "emptied") {
						continue
					}
					dir := filepath.Join(base, "harmed")
					copyFolder(t, from, dir, func(name string) bool { return name != file && isFinal(name) })
					if err := harms[name](r, filepath.Join(dir, file), info.Size()); err != nil {
						t.Fatal(err)
					}
					what := fmt.Sprintf("%s/%s %s, point %d", filepath.Base(from), file, name, point)
					var told []string
					j, err := Open(dir, &Options{Told: func(e Event) { told = append(told, e.Text) }})
					if err == nil {
						got := rowsOf(t, j)
						if !maps.Equal(want, got) {
							t.Errorf("%s: told %q (-want +got): %s", what, told, cmp.Diff(want, got))
						}
						if len(told) > 0 {
							mended++
						}
						shut(t, j)
					} else {
						refused++
						var path *fs.PathError
						var damage *DamageError
						if !errors.As(err, &damage) && !errors.As(err, &path) && !strings.Contains(err.Error(), filepath.Base(file)) {
							t.Errorf("%s: refused without a file: %v", what, err)
						}
						if archived {
							t.Errorf("%s: refused, and a snapshot has what it says: %v", what, err)
						}
						if strings.HasPrefix(file, indexDir) {
							t.Errorf("%s: refused, and could be made anew: %v", what, err)
						}
					}
					if err := os.RemoveAll(dir); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	if diff := cmp.Diff(final, []map[string]uint64{sums(t, closed), sums(t, killed)}); diff != "" {
		t.Errorf("files to which nothing is written were changed (-before +after): %s", diff)
	}
	t.Logf("%d refused, %d mended", refused, mended)
	if refused == 0 || mended == 0 {
		t.Error("nothing was harmed")
	}
}

const store1MB = 1<<20 - 100

func edit(path string, at int64, with func([]byte), n int) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	b := make([]byte, n)
	n, err = f.ReadAt(b, at)
	if n > 0 {
		with(b[:n])
		_, err = f.WriteAt(b[:n], at)
	}
	return errors.Join(err, f.Close())
}

func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasSuffix(path, ".tmp") {
			name, _ := filepath.Rel(dir, path)
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
