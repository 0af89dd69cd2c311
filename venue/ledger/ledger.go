package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/note"

	"usher/ucan"
	"usher/venue/store"
	"usher/venue/store/group"
)

// Store is what a ledger needs of the venue's store. Its keys begin with "l/".
type Store interface {
	view
	// Snapshot is a view of this moment, which whoever opens it closes.
	Snapshot(ctx context.Context) (store.Snapshot, error)
	// Apply writes and deletes in one step, on condition that each key of
	// expect stands at its revision. It names a key that does not; then nothing
	// was written.
	Apply(ctx context.Context, expect map[string]uint64, put map[string][]byte, del []string) (moved string, err error)
}

// Options says how to open a ledger. Key is required.
type Options struct {
	Key ucan.Key // the venue's: signs checkpoints, and keys the digests of inputs

	// Checkpoints are where each checkpoint goes beside the store: files, which
	// it is appended to, and URLs, which it is posted to.
	Checkpoints []string

	// ReadOnly writes nothing: checkpoints are signed, and go nowhere.
	ReadOnly bool

	Now    func() time.Time // nil is time.Now
	Logger *slog.Logger     // nil discards
}

// Ledger is an open ledger. It is safe for concurrent use.
type Ledger struct {
	Reader
	digests  digester
	signer   note.Signer
	readOnly bool
	now      func() time.Time
	log      *slog.Logger
	couriers []*courier
	wake     chan struct{} // a checkpoint is due
	timer    *time.Timer   // until the time is over of rows that wait for one
	stop     chan struct{} // closed by Close
	stopped  chan struct{} // closed when nothing runs in the background

	mu      sync.Mutex // guards what follows; held for no longer than that
	written tree       // by whoever leads
	marked  uint64     // rows that a checkpoint covers or is due for
	due     []head     // trees whose checkpoint is due
	waiting bool       // rows beyond marked wait for a checkpoint
	closed  bool

	began   uint64     // rows that earlier processes wrote
	pruning sync.Mutex // held while rows are pruned

	queue  group.Queue[*draft] // rows that wait to be written
	writer writer              // of whoever leads
	spare  sync.Pool           // of *pending

	signing sync.Mutex // held while a checkpoint is made
	last    Checkpoint // the newest
}

// Create begins a ledger in a store that has never held one. It is called
// before anything else is written there: from then on a ledger that is missing
// was removed.
func Create(ctx context.Context, store Store) error {
	_, err := store.Apply(ctx, map[string]uint64{headKey: 0}, map[string][]byte{headKey: new(tree).append(nil)}, nil)
	if err != nil {
		return fmt.Errorf("create audit ledger: %w", err)
	}
	return nil
}

// Open opens the ledger of a store, unless what it holds contradicts its head,
// its newest checkpoint, or the newest checkpoint in one of the files: then the
// error wraps [ErrBroken].
func Open(ctx context.Context, store Store, opts Options) (*Ledger, error) {
	signer, err := newSigner(opts.Key)
	if err != nil {
		return nil, fmt.Errorf("open audit ledger: %w", err)
	}
	l := &Ledger{
		Reader: *NewReader(store, opts.Key.DID()),
		signer: signer, readOnly: opts.ReadOnly, now: opts.Now, log: opts.Logger,
		wake: make(chan struct{}, 1), timer: time.NewTimer(checkpointEvery), stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	l.queue.Take, l.queue.Do = l.take, l.writeAll
	if l.digests, err = newDigester(opts.Key); err != nil {
		return nil, fmt.Errorf("open audit ledger: %w", err)
	}
	if l.now == nil {
		l.now = time.Now
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	l.timer.Stop()
	for _, text := range opts.Checkpoints {
		to, err := parsePlace(text)
		if err != nil {
			return nil, fmt.Errorf("open audit ledger: %w", err)
		}
		l.couriers = append(l.couriers, newCourier(to, l.log))
	}
	if err := l.resume(ctx, opts.Checkpoints); err != nil {
		return nil, fmt.Errorf("open audit ledger: %w", err)
	}
	if l.readOnly {
		l.couriers = nil
	}
	for _, c := range l.couriers {
		c.start()
	}
	go l.watch()
	return l, nil
}

// resume goes on where the store's head says that the ledger ends.
func (l *Ledger) resume(ctx context.Context, places []string) error {
	t, err := l.reload(ctx)
	if err != nil {
		return err
	}
	l.began = t.size
	l.writer.tree.set(t)
	l.written.set(t)
	if l.last, err = l.newest(ctx); err != nil {
		return err
	}
	if err := l.covers(ctx, t.size, l.last); err != nil {
		return err
	}
	if err := l.checkPruneNote(ctx, l.last.Size); err != nil {
		return err
	}
	l.marked = l.last.Size
	l.wait(t.size > l.marked && !l.readOnly)
	return l.Continues(ctx, places)
}

// reload reads the tree that the head says, and checks that there is nothing
// else.
func (r *Reader) reload(ctx context.Context) (*tree, error) {
	for {
		h, err := r.readHead(ctx)
		if err != nil {
			return nil, err
		}
		t, err := grown(h.size, r.hashes(ctx))
		if err == nil && !t.equal(h) {
			err = fmt.Errorf("%w: its head is not that of its %d rows", ErrBroken, h.size)
		}
		if err == nil {
			return &t, r.endsAt(ctx, h)
		}
		if now, headErr := r.readHead(ctx); headErr != nil || now.equal(h) {
			return nil, err
		} // otherwise another writes just now
	}
}

func (r *Reader) readHead(ctx context.Context) (*tree, error) {
	raw, _, err := r.view.Get(ctx, headKey)
	if err != nil {
		return nil, err
	}
	if raw == nil {
		return nil, fmt.Errorf("%w: it was removed, head and all; restore the data folder from a backup", ErrBroken)
	}
	return parseTree(raw)
}

// Close makes a last checkpoint of what has none, brings it where the others
// go, and stops what runs in the background. The store stays open.
func (l *Ledger) Close() error {
	l.mu.Lock()
	again := l.closed
	l.closed = true
	l.mu.Unlock()
	if again {
		return nil
	}
	close(l.stop)
	<-l.stopped
	var err error
	if h := l.end(); h.size > 0 && !l.readOnly {
		_, err = l.sign(context.Background(), h)
	}
	for _, c := range l.couriers {
		c.finish()
	}
	return err
}

// errClosed says that a row came after Close.
var errClosed = errors.New("the audit ledger is closed")
