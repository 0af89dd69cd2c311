// Package store keeps the venue's bytes: keys in order, revisions, atomic batches. It is the only
// package that names Badger; whoever needs storage declares the few methods that it uses.
//
// Call [Open] first and [Store.Close] last. [Store.Get] and the scans read, [Store.Apply] writes,
// [Store.Sync] makes what was applied survive a loss of power.
//
// What is promised:
//   - Apply is atomic, and once it has returned its writes survive the death of the process. Only
//     Sync makes them survive the death of the machine.
//   - A revision is never 0 for a key that exists, and each write of a key gives it another one.
//     Writing what depends on what was read means to hand the revisions that were read to Apply.
//   - A scan sees one moment: writes that happen while it runs do not show in it.
//   - One process at a time. A second one gets an error that says who holds the folder.
package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// ErrClosed says that the store was used after Close.
var ErrClosed = errors.New("store is closed")

// Options tune a store. Nil and the zero value are valid.
type Options struct {
	// Logger receives what goes wrong in the background. Nil logs nothing.
	Logger *slog.Logger
	// GCInterval is the time between two collections of the value log, which hands the space of
	// overwritten values above 1 KiB back to the disk. Zero means 10 minutes.
	GCInterval time.Duration
}

// Store is an open store. It is safe for concurrent use.
type Store struct {
	db  *badger.DB
	dir string // "" in memory
	log *slog.Logger

	sync syncer

	stopGC context.CancelFunc
	doneGC chan struct{}

	// Badger panics when it is used after its Close, so each call registers here first and Close
	// waits for those that run.
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// Open opens the store in the folder dir, which is made when it is missing. An empty dir means a
// store in memory, which is gone with Close. Opening a folder that is open already is an error
// that names the process that has it.
func Open(dir string, opts *Options) (*Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	logger := opts.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	db, err := badger.Open(tuned(dir, logger))
	if err != nil {
		return nil, openError(dir, err)
	}
	s := &Store{db: db, dir: dir, log: logger, sync: newSyncer()}
	ctx, cancel := context.WithCancel(context.Background())
	s.stopGC, s.doneGC = cancel, make(chan struct{})
	interval := opts.GCInterval
	if interval <= 0 {
		interval = 10 * time.Minute
	}
	go s.collect(ctx, interval)
	return s, nil
}

// Close waits for the calls that run, writes what is in memory to disk and gives the folder free.
// Closing twice does nothing. A callback of a scan must not call Close: it would wait for itself.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()

	s.stopGC()
	<-s.doneGC
	s.running.Wait()
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("close store %q: %w", s.dir, err)
	}
	return nil
}

// begin admits one call; the caller must call s.running.Done when it has ended.
func (s *Store) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.running.Add(1)
	return nil
}
