package badger

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// tuned is Badger for a program that is mostly something else, over a journal. An idle index takes
// about 10 MB of memory, one with some ten thousand small keys about 30. Larger tables than Badger's
// usual ones, and large values in them, would take hundreds while they are built.
func tuned(dir string, w *watch) badger.Options {
	return badger.DefaultOptions(dir).
		WithMemTableSize(8 << 20).
		WithNumMemtables(2).
		WithBlockCacheSize(8 << 20).
		WithIndexCacheSize(4 << 20).
		WithValueLogFileSize(64 << 20).
		WithValueThreshold(1 << 10).
		WithVerifyValueChecksum(true).
		WithNumCompactors(2).
		WithNumLevelZeroTables(2).
		WithNumLevelZeroTablesStall(4).
		WithMetricsEnabled(false).
		WithDetectConflicts(false). // one writer has none
		WithBypassLockGuard(true).  // whoever has the journal has the folder
		WithLogger(w)
}

// collectEvery is the time between two collections of the value log.
const collectEvery = 10 * time.Minute

// collect hands the space of overwritten values above 1 KiB back to the disk, until ctx ends.
func (i *Index) collect(ctx context.Context) {
	defer close(i.collected)
	tick := time.NewTicker(collectEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := i.collectOnce(ctx); err != nil {
				i.watch.log.LogAttrs(ctx, slog.LevelWarn, "value log collection failed", slog.Any("error", err))
			}
		}
	}
}

// collectOnce rewrites value-log files of which half or more is garbage, until none is left.
func (i *Index) collectOnce(ctx context.Context) (err error) {
	defer contain(&err)
	defer faulty()()
	for ctx.Err() == nil {
		err := i.db.RunValueLogGC(0.5)
		if errors.Is(err, badger.ErrNoRewrite) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
