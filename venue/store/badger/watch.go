package badger

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/dgraph-io/badger/v4"
)

// watch is Badger's logger. Badger tells there, and nowhere else, how many rows a compaction gave to
// each table that it built. A table that could not be written is left out without an error, and the
// tables that it was made from are deleted (UPSTREAM.md); so when a compaction is done, the tables
// that it told of are looked for.
type watch struct {
	log   *slog.Logger
	doubt func(error)

	mu    sync.Mutex
	db    *badger.DB       // nil while it is opened or closed
	built map[int][]uint64 // rows of the tables that a compaction has built, by the compactor
}

var _ badger.Logger = (*watch)(nil)

func newWatch(o *Options) *watch {
	w := &watch{log: o.Logger, doubt: o.Doubt, built: make(map[int][]uint64)}
	if w.log == nil {
		w.log = slog.New(slog.DiscardHandler)
	}
	if w.doubt == nil {
		w.doubt = func(error) {}
	}
	return w
}

func (w *watch) begin(db *badger.DB) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.db = db
}

func (w *watch) end() { w.begin(nil) }

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
			w.mu.Lock()
			w.built[id] = append(w.built[id], rows)
			w.mu.Unlock()
		}
	case lineDone:
		id, _ := args[0].(int)
		if lost := w.missing(id); lost > 0 {
			w.doubt(fmt.Errorf("a compaction lost %d of the tables that it made", lost))
		}
	}
}

// missing counts the tables that a compactor has told of and that are not there.
func (w *watch) missing(compactor int) (lost int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	built := w.built[compactor]
	delete(w.built, compactor)
	if w.db == nil || len(built) == 0 {
		return 0
	}
	there := make(map[uint64]int)
	for _, t := range w.db.Tables() {
		there[uint64(t.KeyCount)]++
	}
	for _, rows := range built {
		if there[rows]--; there[rows] < 0 {
			lost++
		}
	}
	return lost
}

// Warningf and Errorf tell of what failed. Where Badger goes on after it, rows may be missing.
func (w *watch) Warningf(format string, args ...any) {
	if format == lineFailed {
		w.mu.Lock()
		id, _ := args[0].(int)
		delete(w.built, id)
		w.mu.Unlock()
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
