package badger

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"

	"usher/venue/store"
)

// ErrNotClosed says that an index cannot be looked at from outside.
var ErrNotClosed = errors.New("the index was not closed")

// Check reads an index that was closed without writing to it. Its tables are read before Badger
// opens it, as Badger ends the process at some that are damaged.
func Check(dir string, read func(store.View) error) (err error) {
	defer contain(&err)
	defer faulty()()
	raw, err := os.ReadFile(filepath.Join(dir, NoteFile))
	if errors.Is(err, os.ErrNotExist) {
		return ErrNotClosed
	}
	if err != nil {
		return err
	}
	sizes, err := sizesOf(dir)
	if err == nil {
		err = asNoted(raw, sizes)
	}
	if err != nil {
		return err
	}
	listed, err := list(dir)
	if err != nil {
		return err
	}
	if _, err := readTables(dir, listed, sizes, os.O_RDONLY); err != nil {
		return err
	}
	w := newWatch(&Options{})
	db, err := badger.OpenManaged(tuned(dir, w).WithReadOnly(true))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	i := &Index{db: db, watch: w, reads: reads{written: db.MaxVersion(), open: make(map[uint64]int)}}
	v := i.view()
	defer v.End()
	return read(v)
}
