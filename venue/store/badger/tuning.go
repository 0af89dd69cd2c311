package badger

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
)

// tune returns Badger for a program that is mostly something else, over a journal. An idle index takes
// about 10 MB of memory, one with some ten thousand small keys about 30. Badger keeps eight of the
// buffers that tables are built in, each of the size that the largest of them ever needed:
// compression, tables that grow with the level, and large values in them would make that hundreds of
// MB. Smaller memtables and fewer tables on level 0 are compacted more often: with half of each, 64
// sessions that write at once need a fifth more of the processor.
func tune(dir string, w *watch) badger.Options {
	o := badger.DefaultOptions(dir)
	o.TableSizeMultiplier = 1
	return o.
		WithMemTableSize(4 << 20).
		WithBaseTableSize(tableSize(filepath.Dir(dir))).
		WithNumMemtables(2).
		WithCompression(options.None).
		WithBlockCacheSize(8 << 20).
		WithIndexCacheSize(4 << 20).
		WithValueLogFileSize(64 << 20).
		WithValueThreshold(1 << 10).
		WithVerifyValueChecksum(true).
		WithNumCompactors(2).
		WithNumLevelZeroTables(8).
		WithNumLevelZeroTablesStall(16).
		WithMetricsEnabled(false).
		WithDetectConflicts(false). // one writer has none
		WithBypassLockGuard(true).  // whoever has the journal has the folder
		WithLogger(w)
}

// tableSize is that of the tables of an index, of which and of those beside it there are so many
// bytes: 2 MB, and more where that would need over a thousand descriptors.
func tableSize(indexes string) int64 {
	tables, _ := filepath.Glob(filepath.Join(indexes, "*", "*.sst")) // none where they cannot be read
	total := int64(0)
	for _, path := range tables {
		if info, err := os.Stat(path); err == nil {
			total += info.Size()
		}
	}
	return max(2<<20, total/1000)
}

// The time between two collections of the value log, and between two looks at the mapped pages, which
// are let go when they are so many.
const (
	collectEvery = 10 * time.Minute
	letGoEvery   = 250 * time.Millisecond
	maxTouched   = 48 << 20 // bytes, those of the program itself among them
)

// collect hands the space of overwritten values above 1 KiB back to the disk, and mapped pages to the
// system, until ctx ends.
func (i *Index) collect(ctx context.Context) {
	defer close(i.collected)
	often, seldom := time.NewTicker(letGoEvery), time.NewTicker(collectEvery)
	defer often.Stop()
	defer seldom.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-often.C:
			err = letGo(i.dir, maxTouched)
		case <-seldom.C:
			err = i.collectOnce(ctx)
		}
		if err != nil {
			i.watch.log.LogAttrs(ctx, slog.LevelWarn, "index not tidied", slog.Any("error", err))
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
