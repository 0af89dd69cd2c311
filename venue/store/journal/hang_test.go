package journal

import (
	"errors"
	"iter"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"usher/venue/store"
)

// hungIndex hangs where it is abandoned, until it is let go, and takes no rows.
type hungIndex struct {
	Index
	let chan struct{}
}

var errDisk = errors.New("the disk fails")

func (*hungIndex) Replay(iter.Seq2[store.VersionRow, error]) error { return errDisk }

func (h *hungIndex) Abandon() error {
	<-h.let
	return h.Index.Abandon()
}

// TestHangWhileAbandoned: an index that hangs while it is abandoned holds up neither who makes it anew
// nor, for long, who closes the store. The folder is not free as long as it may write there.
func TestHangWhileAbandoned(t *testing.T) {
	for name, leave := range map[string]func(*testing.T, *Journal, *hungIndex){
		"closed in doubt": func(_ *testing.T, j *Journal, hung *hungIndex) {
			hung.Index, j.index = j.index, hung
			j.doubt.Store(&errDisk)
		},
		"not made anew": func(t *testing.T, j *Journal, hung *hungIndex) {
			path := ""
			j.mu.Lock()
			defer j.mu.Unlock()
			_, err := j.build(func() (_ Index, err error) {
				if path != "" {
					return nil, errDisk
				}
				hung.Index, err = j.newIndex()
				path = j.indexPath()
				return hung, err
			})
			if !errors.Is(err, errDisk) {
				t.Errorf("build() = %v", err)
			}
			if next, err := j.newIndex(); err != nil || j.indexPath() == path {
				t.Errorf("the next index is in the same folder %s: %v", path, err)
			} else if err := next.Close(); err != nil {
				t.Error(err)
			}
		},
		"made anew": func(t *testing.T, j *Journal, hung *hungIndex) {
			lose(t, j, "a")
			hung.Index, j.index = j.index, hung
			j.doubt.Store(&errDisk)
			if err := j.settle(); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				j, err := Open(dir, nil)
				if err != nil {
					t.Fatal(err)
				}
				put(t, j, map[string]string{"a": "1"})
				hung := &hungIndex{let: make(chan struct{})}
				leave(t, j, hung)
				began := time.Now()
				if err := j.Close(); err == nil || time.Since(began) > closeTime {
					t.Errorf("Close() = %v after %v", err, time.Since(began))
				}
				if again, err := Open(dir, nil); err == nil {
					t.Error("the folder is free while an index may be written to")
					shut(t, again)
				} else if _, held := errors.AsType[*LockError](err); !held {
					t.Errorf("Open() = %v, want that this process has it", err)
				}
				close(hung.let)
				j.old.Wait()
				if err := j.lock.Close(); err != nil {
					t.Error(err)
				}
				again, err := Open(dir, nil)
				if err != nil {
					t.Fatal(err)
				}
				if raw, _, err := again.Get(t.Context(), "a"); err != nil || string(raw) != "1" {
					t.Errorf("Get() = %q, %v", raw, err)
				}
				shut(t, again)
			})
		})
	}
}

// TestIndexThatCannotBeMadeLeavesNothing: each try has a folder of its own, and none stays.
func TestIndexThatCannotBeMadeLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, nil)
	put(t, j, map[string]string{"a": "1"})
	for range 3 {
		if _, err := j.build(func() (Index, error) {
			i, err := j.newIndex()
			return nil, errors.Join(errDisk, err, i.Close())
		}); !errors.Is(err, errDisk) {
			t.Fatalf("build() = %v", err)
		}
	}
	j.old.Wait()
	left, err := os.ReadDir(filepath.Join(dir, indexDir))
	if err != nil || len(left) != 1 {
		t.Errorf("there are the folders %v, %v; want the one that is in use", left, err)
	}
}

// TestFolderGoesOnce: the folder of an index stays until that is closed, also where those that came
// after it, in memory, are made anew meanwhile. What is closed in a folder that is gone writes for ever.
func TestFolderGoesOnce(t *testing.T) {
	j := open(t, t.TempDir(), nil)
	put(t, j, map[string]string{"a": "1"})
	path := j.indexPath()
	hung := &hungIndex{j.index, make(chan struct{})}
	j.mu.Lock()
	j.index = hung
	j.mu.Unlock()
	for range 2 {
		anew(t, j)
	}
	time.Sleep(10 * time.Millisecond)
	if _, err := os.Stat(path); err != nil {
		t.Errorf("while the index is closed: %v", err)
	}
	close(hung.let)
	j.old.Wait()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("afterwards the folder is there: %v", err)
	}
}
