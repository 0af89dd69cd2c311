package badger

import (
	"fmt"
	"iter"

	"github.com/dgraph-io/badger/v4"

	"usher/venue/store"
)

// Bounds of what Replay has Badger write at once: less than one transaction of it takes.
const (
	replayRows  = 1000
	replayBytes = 128 << 10 // of keys and values, beside the last
)

// Replay writes what was written before, each put and delete at its version, in whatever order.
// After an error the index must not be used any more.
func (i *Index) Replay(all iter.Seq2[store.Versioned, error]) (err error) {
	defer contain(&err)
	batch := i.db.NewManagedWriteBatch()
	defer func() { batch.Cancel() }()
	newest := i.reads.last()
	rows, size := 0, 0
	for op, err := range all {
		if err != nil {
			return err
		}
		if op.Kind == store.OpDelete {
			err = batch.DeleteAt([]byte(op.Key), op.Version)
		} else {
			err = batch.SetEntryAt(badger.NewEntry([]byte(op.Key), op.Value), op.Version)
		}
		if err != nil {
			return fmt.Errorf("write %q to the index: %w", op.Key, err)
		}
		newest = max(newest, op.Version)
		rows, size = rows+1, size+len(op.Key)+len(op.Value)
		if rows == replayRows || size >= replayBytes {
			// Badger ends the process at a write that follows one which found no memtable, so none
			// is under way when the next begins.
			if err := batch.Flush(); err != nil {
				return fmt.Errorf("write to the index: %w", err)
			}
			batch, rows, size = i.db.NewManagedWriteBatch(), 0, 0
		}
	}
	if err := batch.Flush(); err != nil {
		return fmt.Errorf("write to the index: %w", err)
	}
	i.db.SetDiscardTs(i.reads.advance(newest))
	return nil
}
