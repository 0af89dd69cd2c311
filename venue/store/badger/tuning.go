package badger

import "github.com/dgraph-io/badger/v4"

// tuned is Badger for a program that is mostly something else, over a journal. An idle index takes
// about 10 MB of memory, one with some ten thousand small keys about 30. All values stand beside
// their keys, so that Badger's value log stays empty; tables grow with the data, from 8 MB to
// 128 MB where there are a hundred gigabytes, so that a thousand descriptors are enough for those.
func tuned(dir string, w *watch) badger.Options {
	return badger.DefaultOptions(dir).
		WithMemTableSize(8 << 20).
		WithBaseTableSize(8 << 20).
		WithNumMemtables(2).
		WithBlockCacheSize(8 << 20).
		WithIndexCacheSize(4 << 20).
		WithValueLogFileSize(1 << 20).
		WithValueThreshold(1 << 20). // what a batch holds is smaller: store.MaxApplyBytes
		WithNumCompactors(2).
		WithNumLevelZeroTables(2).
		WithNumLevelZeroTablesStall(4).
		WithMetricsEnabled(false).
		WithDetectConflicts(false). // one writer has none
		WithBypassLockGuard(true).  // whoever has the journal has the folder
		WithLogger(w)
}
