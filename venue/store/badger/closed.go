package badger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// ErrNotClosed says that an index cannot be looked at from outside.
var ErrNotClosed = errors.New("the index was not closed")

// RestIndex is an index that was closed, opened without writing to it. Somebody else may open it
// meanwhile: what it shows stays as it was, and reads of what they remove fail.
type RestIndex struct{ *Index }

// endTime is how long the end of reading may take: a read that failed inside Badger may leave a lock
// of its behind, and then what is mapped goes with the process.
const endTime = time.Second

// OpenRest opens an index that was closed. Its tables are read before Badger opens it, as Badger
// ends the process at some that are damaged.
func OpenRest(dir string, o *Options) (c RestIndex, err error) {
	defer contain(&err)
	defer faulty()()
	files, err := sizesOf(dir)
	if err == nil {
		err = checkNote(dir, files)
	}
	if err != nil {
		return c, err
	}
	listed, err := list(dir)
	if err != nil {
		return c, err
	}
	version, err := readTables(dir, listed, files, os.O_RDONLY)
	if err != nil {
		return c, err
	}
	i := &Index{dir: dir, watch: newWatch(o), flushed: version, stop: func() {}, collected: make(chan struct{})}
	close(i.collected)
	if i.db, err = badger.OpenManaged(tune(dir, i.watch).WithReadOnly(true)); err != nil {
		return c, fmt.Errorf("index %s: %w", dir, err)
	}
	i.reads = reads{written: i.db.MaxVersion(), open: make(map[uint64]int)}
	i.watch.begin(i.db)
	if _, err := os.Stat(filepath.Join(dir, NoteFile)); err != nil { // somebody has opened it
		return c, errors.Join(ErrNotClosed, i.Abandon())
	}
	return RestIndex{i}, nil
}

// Close ends the reading. What goes wrong then loses nothing, such as that the folder is gone.
func (c RestIndex) Close() error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.Index.Abandon()
	}()
	select {
	case <-done:
	case <-time.After(endTime):
	}
	return nil
}

// Abandon is [RestIndex.Close].
func (c RestIndex) Abandon() error { return c.Close() }
