package badger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// watch is Badger's logger. Badger tells there, and nowhere else, how many rows a compaction gave to
// each table that it built. A table that could not be written is left out without an error, and the
// tables that it was made from are deleted (UPSTREAM.md); so when a compaction is done, the tables
// that it told of are looked for. Between the two, whoever has read waits with [watch.sure].
type watch struct {
	log   *slog.Logger
	doubt func(error)
	open  atomic.Int32  // compactions that have built a table, and are not done
	begun chan struct{} // closed by begin

	mu          sync.Mutex
	done        sync.Cond              // one of compactions is
	db          *badger.DB             // nil while it is opened or closed
	closing     bool                   // it is closed
	blind       bool                   // something may have been lost while it was opened or closed
	compactions map[int]*tableExchange // by the compactor
}

// tableExchange is a compaction from its first new table on.
type tableExchange struct {
	built    []uint64        // rows of its tables
	manifest os.FileInfo     // as it was before them
	before   map[uint64]bool // tables
}

var _ badger.Logger = (*watch)(nil)

func newWatch(o *Options) *watch {
	w := &watch{log: o.Logger, doubt: o.Doubt, begun: make(chan struct{}), compactions: make(map[int]*tableExchange)}
	w.done.L = &w.mu
	if w.log == nil {
		w.log = slog.New(slog.DiscardHandler)
	}
	if w.doubt == nil {
		w.doubt = func(error) {}
	}
	return w
}

// openTime is how long a compaction waits until Badger is open. Its compactors run before that, and
// where it does not open it waits for them.
const openTime = 5 * time.Second

// begin has the tables of an open Badger watched.
func (w *watch) begin(db *badger.DB) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.db = db
	close(w.begun)
	if w.blind {
		w.doubt(errors.New("badger compacted while it was opened"))
	}
}

// stop is for before it is closed, which ends the compactions that are open.
func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.db, w.closing, w.blind = nil, true, len(w.compactions) > 0
	w.done.Broadcast()
}

// isBlind reports whether something may have been lost since stop.
func (w *watch) isBlind() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.blind
}

// The lines of Badger's that are read.
const (
	lineBuilt  = "[%d] LOG Compact. Added %d keys. Skipped %d keys. Iteration took: %v"
	lineDone   = "[Compactor: %d] Compaction for level: %d DONE"
	lineFailed = "[Compactor: %d] LOG Compact FAILED with error: %+v: %+v"
)

// Debugf follows a compaction.
func (w *watch) Debugf(format string, args ...any) {
	switch format {
	case lineBuilt:
		id, _ := args[0].(int)
		rows, ok := args[1].(uint64)
		if !ok {
			w.doubt(fmt.Errorf("badger tells of its compactions in another form: %s", line(format, args)))
		}
		if rows > 0 {
			w.build(id, rows)
		}
	case lineDone:
		id, _ := args[0].(int)
		if lost := w.countAbsent(id); lost > 0 {
			w.doubt(fmt.Errorf("a compaction lost %d of the tables that it made", lost))
		}
		w.end(id)
	}
}

// build notes a table that a compactor is about to write.
func (w *watch) build(compactor int, rows uint64) {
	select {
	case <-w.begun:
	case <-time.After(openTime):
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.blind = w.blind || w.db == nil
	c := w.compactions[compactor]
	if c == nil {
		c = &tableExchange{manifest: w.manifest(), before: w.tables()}
		w.compactions[compactor] = c
		w.open.Add(1)
	}
	c.built = append(c.built, rows)
}

// end forgets a compaction, after its doubt was told.
func (w *watch) end(compactor int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.compactions[compactor] != nil {
		delete(w.compactions, compactor)
		w.open.Add(-1)
		w.done.Broadcast()
	}
}

// sure returns when all that was read before it came from tables that no compaction had lost, or the
// doubt was told. Badger removes the tables that it has read some time before it is done.
func (w *watch) sure() {
	if w.open.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.mayMiss() {
		w.done.Wait()
	}
}

// mayMiss reports whether tables were removed while a compaction is open that may have lost those
// which are in their place. The manifest is written before that, by a flush too.
func (w *watch) mayMiss() bool {
	if w.db == nil {
		return false
	}
	for _, c := range w.compactions {
		manifest := w.manifest()
		if c.manifest != nil && manifest != nil && os.SameFile(manifest, c.manifest) && manifest.Size() == c.manifest.Size() {
			continue
		}
		is := w.tables()
		for id := range c.before {
			if !is[id] {
				return true
			}
		}
	}
	return false
}

// manifest is Badger's list of tables; nil where it is not to be had.
func (w *watch) manifest() os.FileInfo {
	if w.db == nil {
		return nil
	}
	info, err := os.Stat(filepath.Join(w.db.Opts().Dir, badger.ManifestFilename))
	if err != nil {
		return nil
	}
	return info
}

func (w *watch) tables() map[uint64]bool {
	is := make(map[uint64]bool)
	if w.db == nil {
		return is
	}
	for _, t := range w.db.Tables() {
		is[t.ID] = true
	}
	return is
}

// countAbsent counts the tables that a compactor has told of and that are not there.
func (w *watch) countAbsent(compactor int) (lost int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.compactions[compactor]
	if w.db == nil || c == nil {
		return 0
	}
	there := make(map[uint64]int)
	for _, t := range w.db.Tables() {
		there[uint64(t.KeyCount)]++
	}
	for _, rows := range c.built {
		if there[rows]--; there[rows] < 0 {
			lost++
		}
	}
	return lost
}

// Warningf and Errorf tell of what failed. Where Badger goes on after it, rows may be missing.
func (w *watch) Warningf(format string, args ...any) {
	if format == lineFailed {
		id, _ := args[0].(int)
		defer w.end(id) // after the doubt
		args = args[:2]
		format = "compactor %d failed: %v"
	}
	w.emit(slog.LevelWarn, format, args)
	if strings.HasPrefix(format, "compactor") || strings.HasPrefix(format, "While") { // not: caches are small
		w.fail(format, args)
	}
}

func (w *watch) Errorf(format string, args ...any) {
	w.emit(slog.LevelError, format, args)
	w.fail(format, args)
}

// fail has the index checked.
func (w *watch) fail(format string, args []any) {
	w.mu.Lock()
	open := w.db != nil
	w.blind = w.blind || w.closing
	w.mu.Unlock()
	if open {
		w.doubt(fmt.Errorf("badger: %s", line(format, args)))
	}
}

// Infof has Badger's routine: here that is debug.
func (w *watch) Infof(format string, args ...any) { w.emit(slog.LevelDebug, format, args) }

func (w *watch) emit(level slog.Level, format string, args []any) {
	ctx := context.Background()
	if w.log.Enabled(ctx, level) {
		w.log.LogAttrs(ctx, level, "badger", slog.String("text", line(format, args)))
	}
}

func line(format string, args []any) string { return strings.TrimSpace(fmt.Sprintf(format, args...)) }
