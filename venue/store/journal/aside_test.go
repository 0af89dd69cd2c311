package journal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/venue/store"
	"usher/venue/store/badger"
)

// TestReadAside opens folders for reading only: the index is read where it was closed and holds what
// it must, and nothing of the folder changes in any case.
func TestReadAside(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(t *testing.T, index string)
		disk   bool // the index on disk is read
	}{
		{"closed", func(*testing.T, string) {}, true},
		{"not closed", func(t *testing.T, index string) { remove(t, filepath.Join(index, badger.NoteFile)) }, false},
		{"a table is damaged", func(t *testing.T, index string) { damage(t, first(t, index, "*.sst")) }, false},
		{"a table is missing", func(t *testing.T, index string) { remove(t, first(t, index, "*.sst")) }, false},
		{"the list is cut", func(t *testing.T, index string) {
			if err := os.Truncate(filepath.Join(index, "MANIFEST"), 20); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"it is of another moment", func(t *testing.T, index string) {
			i, err := badger.Open(index, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := i.Write(1001, []store.Op{{Kind: store.OpPut, Key: "late", Value: []byte("row")}}); err != nil {
				t.Fatal(err)
			}
			if err := i.Close(); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"there is none", func(t *testing.T, index string) {
			if err := os.RemoveAll(index); err != nil {
				t.Fatal(err)
			}
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			j := open(t, dir, nil)
			fill(t, j, 0, 30)
			want := rowsOf(t, j)
			shut(t, j)
			c.change(t, filepath.Join(dir, indexDir, "1"))
			before := listing(t, dir)

			r, err := Open(dir, &Options{ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			if _, disk := r.index.(badger.RestIndex); disk != c.disk {
				t.Errorf("the rows are read from %T", r.index)
			}
			if diff := cmp.Diff(want, rowsOf(t, r)); diff != "" {
				t.Errorf("(-want +got): %s", diff)
			}
			r.doubtful(os.ErrInvalid) // whatever it is
			if diff := cmp.Diff(want, rowsOf(t, r)); diff != "" {
				t.Errorf("after a doubt (-want +got): %s", diff)
			}
			for range 2 { // the folder has an index of the number that the second one leaves
				anew(t, r)
			}
			if diff := cmp.Diff(want, rowsOf(t, r)); diff != "" {
				t.Errorf("made anew (-want +got): %s", diff)
			}
			shut(t, r)
			if diff := cmp.Diff(before, listing(t, dir)); diff != "" {
				t.Errorf("the folder changed (-was +is): %s", diff)
			}
		})
	}
}

// TestReadAsideWhileOthersWrite has another open the folder, write to it and compact it, after one has
// opened it for reading only: that one goes on as it was.
func TestReadAsideWhileOthersWrite(t *testing.T) {
	dir, want, r := aside(t)
	j := open(t, dir, nil)
	defer shut(t, j)
	anew(t, j) // which removes the index that is read
	fill(t, j, 30, 60)
	j.old.Wait()
	if diff := cmp.Diff(want, rowsOf(t, r)); diff != "" {
		t.Errorf("(-want +got): %s", diff)
	}
	late, err := Open(dir, &Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, late)
	if _, disk := late.index.(badger.RestIndex); disk {
		t.Error("an index that somebody writes to is read from outside")
	}
	if diff := cmp.Diff(rowsOf(t, j), rowsOf(t, late)); diff != "" {
		t.Errorf("who opens it now (-want +got): %s", diff)
	}
}

// TestReadAsideWhileFilesGo has another process compact the index that one reads: Badger cuts what it
// removes first, so that what was mapped is gone. The rows are those of before all the same.
func TestReadAsideWhileFilesGo(t *testing.T) {
	for _, files := range []string{"*.sst", "*.vlog"} {
		t.Run(files, func(t *testing.T) {
			dir, want, r := aside(t)
			gone, err := filepath.Glob(filepath.Join(dir, indexDir, "1", files))
			if err != nil || len(gone) == 0 {
				t.Fatalf("there are no %s: %v", files, err)
			}
			for _, path := range gone {
				if err := os.Truncate(path, 0); err != nil {
					t.Fatal(err)
				}
				remove(t, path)
			}
			if diff := cmp.Diff(want, rowsOf(t, r)); diff != "" {
				t.Errorf("(-want +got): %s", diff)
			}
		})
	}
}

// aside is a folder with some rows that was closed, opened for reading only.
func aside(t *testing.T) (dir string, rows map[string]string, r *Journal) {
	t.Helper()
	dir = t.TempDir()
	j := open(t, dir, nil)
	fill(t, j, 0, 30)
	rows = rowsOf(t, j)
	shut(t, j)
	r, err := Open(dir, &Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, r) })
	return dir, rows, r
}

// anew has the index made anew.
func anew(t *testing.T, j *Journal) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.replace(errors.New("a test has it so")); err != nil {
		t.Fatal(err)
	}
}

func first(t *testing.T, dir, pattern string) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(all) == 0 {
		t.Fatalf("%s has no %s: %v", dir, pattern, err)
	}
	return all[0]
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}
