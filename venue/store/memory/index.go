package memory

import (
	"bytes"
	"iter"

	"usher/venue/store"
)

// Index keeps rows under the versions that it is given, as journal.Index says.
type Index struct{ engine }

// OpenIndex returns an empty index.
func OpenIndex() *Index { return &Index{} }

// Write puts and deletes rows at a version.
func (i *Index) Write(version uint64, ops []store.Op) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.rev = max(i.rev, version)
	i.part()
	for _, op := range ops {
		i.set(op, version)
	}
	return nil
}

// Replay writes what was written before.
func (i *Index) Replay(all iter.Seq2[store.VersionRow, error]) error {
	for op, err := range all {
		if err != nil {
			return err
		}
		op.Value = bytes.Clone(op.Value) // a part of something large
		if err := i.Write(op.Version, []store.Op{op.Op}); err != nil {
			return err
		}
	}
	return nil
}

// Version is that of the newest row.
func (i *Index) Version() uint64 {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.rev
}

// FlushVersion is zero: nothing was there before.
func (i *Index) FlushVersion() uint64 { return 0 }

// IsSuspect is false.
func (i *Index) IsSuspect() bool { return false }

// Abandon lets go of the rows.
func (i *Index) Abandon() error { return i.Close() }
