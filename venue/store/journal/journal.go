package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"usher/venue/store"
	"usher/venue/store/group"
)

// Index is what a journal writes its records to, and reads from.
type Index interface {
	store.View
	Snapshot() store.EngineSnapshot
	// Replay writes what was written before, in whatever order.
	Replay(iter.Seq2[store.VersionRow, error]) error
	// Write puts and deletes rows at a version, above all before, or again. After an error the index
	// is used no more.
	Write(version uint64, ops []store.Op) error
	// Version is that of the newest row.
	Version() uint64
	// FlushVersion is the version up to which all was certain to be there when the index was opened.
	FlushVersion() uint64
	// IsSuspect says that what is there should be checked.
	IsSuspect() bool
	Close() error
	// Abandon closes an index of which something may be missing: whoever opens it again finds it suspect.
	Abandon() error
}

// Options of a journal; nil is valid.
type Options struct {
	Logger *slog.Logger     // nil: none
	Now    func() time.Time // of the records; nil: time.Now
	// ReadOnly opens without writing anything to the folder, which may be on a disk that is full or
	// read-only, or be another user's. The rows are read from the index where that was closed as it
	// must be, and else are kept in memory.
	ReadOnly bool
	// Keep is how long segments are kept that a snapshot covers: as far back a moment can be restored.
	// 0: a week.
	Keep time.Duration
	// Sure is the time by which they may be removed, unless the clock is in doubt. nil: none is removed.
	Sure func() (now time.Time, sure bool)
	// Progress is called now and then during work that takes long. nil: nobody.
	Progress func(text string)
	// Told is called with what was found and mended. It must not use the store. nil: nobody.
	Told func(Event)
}

// Event says what was found wrong with a store, and what became of it.
type Event struct {
	Time time.Time
	Text string
}

// moment is the state of the store after a record.
type moment struct {
	position uint64
	time     time.Time
	sum      Sum
	written  int64 // bytes of records, from some moment on
}

// Journal is an open folder, and the store in it. Its parts lock in this order: the queue, mu, state.
type Journal struct {
	*store.Store

	dir     string
	o       Options
	lock    io.Closer // nil where it was opened for reading
	log     *log      // nil where nothing can be written
	queue   group.Queue[*draft]
	writer  writer    // of whoever leads the queue
	batches sync.Pool // of *pending
	spare   spare

	// Where the disk had no room when it was opened, the rows are in memory until it has.
	cramped atomic.Bool
	end     tail

	mu         sync.RWMutex // held for reading by whoever uses the index
	index      Index        // nil where broken says why
	broken     error
	tried      time.Time      // to make it anew
	resting    bool           // it is in memory since it lost something
	up         bool           // the journal is open
	generation int            // counts the indexes
	number     int            // of the folder of the last one on disk
	gone       int            // of the one that was abandoned last
	old        sync.WaitGroup // indexes that were abandoned
	left       error          // of the one that was in use at the end; read after old

	state        sync.Mutex
	now          moment // written by whoever leads the queue
	taken        int64  // moment.written of the last snapshot
	snapshotSize int64  // of that, in bytes
	doubt        atomic.Pointer[error]

	caring sync.Mutex // held by whoever makes a snapshot
	wake   chan struct{}
	stop   context.CancelFunc
	done   chan struct{}
}

// engine is a journal as the engine of its store.
type engine struct{ *Journal }

var _ store.Engine = engine{}

// Get reads from the index.
func (e engine) Get(key string) (value []byte, rev uint64, err error) {
	err = e.read(func(i Index) (err error) {
		value, rev, err = i.Get(key)
		return err
	})
	return value, rev, err
}

// Page reads from the index.
func (e engine) Page(w store.Walk) (rows []store.Row, next string, err error) {
	err = e.read(func(i Index) (err error) {
		rows, next, err = i.Page(w)
		return err
	})
	return rows, next, err
}

// maxDoubts is how often something is read that put the index in doubt, or came while it was.
const maxDoubts = 3

// read reads from the index, and again where it failed or came to be in doubt meanwhile: what was
// read may have been lost then.
func (j *Journal) read(from func(Index) error) error {
	for n := 1; ; n++ {
		if err := j.settle(); err != nil {
			return err
		}
		j.mu.RLock()
		if j.index == nil {
			err := j.broken
			j.mu.RUnlock()
			if err != nil {
				return err
			}
			continue
		}
		err := j.sure(from(j.index))
		j.mu.RUnlock()
		if err == nil || n == maxDoubts {
			return err
		}
	}
}

// sure is nil where what was read holds, and else has the index checked before it is used again. The
// caller has held mu since before it read: else a doubt may have come and be settled meanwhile.
func (j *Journal) sure(err error) error {
	if err != nil {
		j.doubtful(err)
		return err
	}
	if doubt := j.doubt.Load(); doubt != nil {
		return fmt.Errorf("the index came to be in doubt while it was read: %w", *doubt)
	}
	return nil
}

// errAnew is the error of a snapshot whose index was made anew.
var errAnew = errors.New("the store was repaired meanwhile: read again")

// Snapshot opens a view of the index as it is.
func (e engine) Snapshot() store.EngineSnapshot {
	_ = e.settle() // the view tells
	s, _ := e.view()
	return s
}

// view opens a view, and says of which moment it is.
func (j *Journal) view() (*view, moment) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	j.state.Lock()
	defer j.state.Unlock()
	v := &view{journal: j, at: j.now.position, generation: j.generation, err: j.broken}
	if j.index != nil {
		v.of = j.index.Snapshot()
	}
	return v, j.now
}

// view reads a snapshot of an index. Where that is made anew meanwhile, the view goes on in the new
// one if nothing was written since, and else ends.
type view struct {
	journal *Journal
	at      uint64 // position

	mu         sync.Mutex
	generation int
	of         store.EngineSnapshot // nil where err says why
	err        error
}

// enter returns the snapshot to read, with the journal's mu held for reading.
func (v *view) enter() (store.EngineSnapshot, error) {
	v.journal.mu.RLock()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.of == nil || v.generation == v.journal.generation {
		return v.of, v.err
	}
	v.journal.state.Lock()
	defer v.journal.state.Unlock()
	if v.journal.index == nil || v.at != v.journal.now.position {
		return nil, errAnew
	}
	v.of, v.generation = v.journal.index.Snapshot(), v.journal.generation
	return v.of, nil
}

// read reads from the snapshot, and again where its index failed or came to be in doubt meanwhile.
func (v *view) read(from func(store.View) error) error {
	for n := 1; ; n++ {
		of, err := v.enter()
		if of != nil {
			err = v.journal.sure(from(of))
		}
		v.journal.mu.RUnlock()
		if of == nil || err == nil || n == maxDoubts {
			return err
		}
		if err := v.journal.settle(); err != nil {
			return err
		}
	}
}

func (v *view) Get(key string) (value []byte, rev uint64, err error) {
	err = v.read(func(of store.View) (err error) {
		value, rev, err = of.Get(key)
		return err
	})
	return value, rev, err
}

func (v *view) Page(w store.Walk) (rows []store.Row, next string, err error) {
	err = v.read(func(of store.View) (err error) {
		rows, next, err = of.Page(w)
		return err
	})
	return rows, next, err
}

func (v *view) End() {
	v.journal.mu.RLock()
	defer v.journal.mu.RUnlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.of != nil && v.generation == v.journal.generation {
		v.of.End()
	}
}

// doubtful has the index checked before it is used again.
func (j *Journal) doubtful(err error) {
	if j.doubt.CompareAndSwap(nil, &err) {
		j.o.Logger.Warn("the index is in doubt", slog.Any("error", err))
		select {
		case j.wake <- struct{}{}:
		default:
		}
	}
}

// tell hands on what was found and mended.
func (j *Journal) tell(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	j.o.Logger.Warn("store repaired", slog.String("text", text))
	j.o.Told(Event{Time: j.o.Now(), Text: text})
}

// Close ends what runs in the background and gives the folder free. A snapshot that is due is made
// first, as commands are seldom open for long.
func (e engine) Close() error {
	e.stop()
	<-e.done
	var errs []error
	if e.log != nil && e.log.stopped == nil && e.isSnapshotDue() {
		if _, err := e.TakeSnapshot(context.Background()); err != nil {
			errs = append(errs, err)
		}
	}
	if e.log != nil {
		errs = append(errs, e.log.close(), note(e.dir, e.now.position, e.log.head.salt))
	}
	errs = append(errs, e.closeIndex())
	e.spare.free()
	return errors.Join(append(errs, e.release())...)
}
