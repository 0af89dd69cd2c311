package badger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// tuned is Badger for a program that is mostly something else. An idle store takes about 10 MB of
// memory, one with some ten thousand small keys about 30. Writing hundreds of thousands without a
// pause takes up to 500 MB, most of it garbage of compactions that is not collected yet:
// GOMEMLIMIT=64MiB holds that to 180. Smaller memtables than these cost more than they save.
func tuned(dir string, logger *slog.Logger) badger.Options {
	return badger.DefaultOptions(dir).
		WithMemTableSize(8 << 20).
		WithNumMemtables(2).
		WithBlockCacheSize(8 << 20).
		WithIndexCacheSize(4 << 20).
		WithValueLogFileSize(64 << 20).
		WithNumCompactors(2).
		WithNumLevelZeroTables(2).
		WithNumLevelZeroTablesStall(4).
		WithValueThreshold(1 << 10).
		WithMetricsEnabled(false).
		WithDetectConflicts(false). // one writer has none
		WithLogger(badgerLog{logger})
}

// openError turns Badger's refusals into something that a person can act on.
func openError(dir string, err error) error {
	// Badger formats the cause of a failed lock into a text, so the text is all there is.
	if !strings.Contains(err.Error(), "Cannot acquire directory lock") {
		return fmt.Errorf("open store %q: %w", dir, err)
	}
	holder := "another process"
	if data, readErr := os.ReadFile(filepath.Join(dir, "LOCK")); readErr == nil {
		if pid, convErr := strconv.Atoi(strings.TrimSpace(string(data))); convErr == nil {
			holder = fmt.Sprintf("process %d", pid)
			if pid == os.Getpid() {
				holder = "this process"
			}
		}
	}
	return fmt.Errorf("open store %q: %s has it open; stop that one first, or use another folder", dir, holder)
}

// collect runs the value log's garbage collection until ctx ends. Values up to 1 KiB are not in
// the value log, so there is seldom much to do.
func (e *engine) collect(ctx context.Context, interval time.Duration) {
	defer close(e.doneGC)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := e.collectOnce(ctx); err != nil {
				e.log.LogAttrs(ctx, slog.LevelWarn, "value log collection failed", slog.Any("error", err))
			}
		}
	}
}

// collectOnce rewrites value-log files of which half or more is garbage, until none is left.
func (e *engine) collectOnce(ctx context.Context) error {
	for ctx.Err() == nil {
		err := e.db.RunValueLogGC(0.5)
		if errors.Is(err, badger.ErrNoRewrite) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
