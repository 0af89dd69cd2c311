package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"usher/caps"
	"usher/tools"
	"usher/tools/fault"
	"usher/tools/keylock"
)

// Store is the storage that a tree needs: ordered keys, revisions and atomic batches. Revision 0 is
// a key that does not exist, and each write of a key gives it another revision.
type Store interface {
	// Snapshot shows the store as it is at this moment until it is closed.
	Snapshot(ctx context.Context) (Snapshot, error)
	// PageKeys is that of [Snapshot], now.
	PageKeys(ctx context.Context, prefix, from string, limit int) (keys []string, next string, err error)
	// Apply writes nothing when a key of expect is not at its revision any more, and returns it.
	Apply(ctx context.Context, expect map[string]uint64, put map[string][]byte, del []string) (moved string, err error)
}

// Snapshot reads what a store held at one moment. A page has at most limit of the keys that begin
// with prefix and are not below from, in order, and says where the next one begins: "" when nothing
// follows. A page back goes down from there.
type Snapshot = interface {
	Get(ctx context.Context, key string) (value []byte, rev uint64, err error)
	Page(ctx context.Context, prefix, from string, limit int) (rows []Row, next string, err error)
	PageBack(ctx context.Context, prefix, from string, limit int) (rows []Row, next string, err error)
	PageKeys(ctx context.Context, prefix, from string, limit int) (keys []string, next string, err error)
	Close()
}

// Row is a key with its value and its revision.
type Row = struct {
	Key   string
	Value []byte
	Rev   uint64
}

// ErrBusy says that a value changed each time between reading and writing it.
var ErrBusy = fault.New(fault.Busy, "the value is being changed by others all the time: try again")

// Options tune a tree. Nil and the zero value are valid.
type Options struct {
	// OnWrite is asked before a value below o/ is stored, with the whole value that the name would
	// have, at the expense of the tree's meter. Its error refuses the write. It may be asked several
	// times for one write, and must not write to the tree. Nil accepts everything.
	OnWrite func(ctx context.Context, value any, meter *tools.Meter) error
	// Logger hears of sweeps that fail. Nil logs nothing.
	Logger *slog.Logger
	// ReadOnly leaves what a crash left to whoever opens the trees for writing.
	ReadOnly bool
	// LeafLimit is the largest JSON, in bytes, that is stored in one piece with all that is in it.
	// Zero means 4096. It may differ from the one that the store was written with.
	LeafLimit int
}

// Tree is the JSON trees of all owners, in the namespaces w and o. It is safe for concurrent use.
type Tree struct {
	*forest
	user
}

// user is whoever a handle of a tree works for.
type user struct {
	meter *tools.Meter // of bytes read from the store and written to it; nil counts nothing
	// sees says where a writer may read: nowhere else does an outcome depend on the length of an
	// array, or an error say what is there. Nil is everywhere.
	sees   func(segs []string) bool
	author *tools.Author // of what is written below o/; nil: nobody is noted
}

// forest is what all handles of a tree share.
type forest struct {
	store     Store
	opts      Options
	positions positions

	// Writers wait for each other, so that they seldom fail each other's conditions: those to one
	// collection, and then those who add to one branch or remove from it.
	writers, counters *keylock.Locks

	wake     chan struct{}
	stop     context.CancelFunc
	sweeping sync.WaitGroup
}

// NewTree opens the trees in store and starts the sweeper, which first removes what a crash left.
// Call [Tree.Close] before the store is closed.
func NewTree(store Store, opts *Options) *Tree {
	t := &Tree{forest: &forest{store: store, writers: keylock.New(), counters: keylock.New(), wake: make(chan struct{}, 1)}}
	if opts != nil {
		t.opts = *opts
	}
	t.opts.Logger = cmp.Or(t.opts.Logger, slog.New(slog.DiscardHandler))
	if t.opts.LeafLimit <= 0 {
		t.opts.LeafLimit = defaultLeafLimit
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.stop = cancel
	if !t.opts.ReadOnly {
		t.wakeSweeper()
		t.sweeping.Go(func() { t.sweepUntil(ctx) })
	}
	return t
}

func (t *Tree) shows(segs []string) bool { return t.sees == nil || t.sees(segs) }

// Close stops the sweeper and waits for it. What it has not removed yet, it removes after the
// next NewTree.
func (t *Tree) Close() error {
	t.stop()
	t.sweeping.Wait()
	return nil
}

func isStored(namespace string) bool { return namespace == "w" || namespace == "o" }

// locate turns a resource into the owner that it lies with and its segments. A resource that
// names its owner, by DID, lies there; any other lies with owner.
func locate(owner string, r caps.Resource) (string, []string, error) {
	segs := r.Segments()
	if len(segs) == 0 || !isStored(segs[0]) {
		return "", nil, fmt.Errorf("%q is not stored here: use w/ or o/", r)
	}
	return cmp.Or(r.DID(), owner), segs, nil
}

// locateKey is locate for writes, which need a key below the namespace.
func locateKey(owner string, r caps.Resource) (string, []string, error) {
	owner, segs, err := locate(owner, r)
	if err == nil && len(segs) < 2 {
		err = errors.New(needsKey(segs[0]))
	}
	return owner, segs, err
}

func join(segs []string) string { return strings.Join(segs, "/") }

func (t *Tree) charge(ctx context.Context, bytes int) error {
	return t.meter.Charge(ctx, tools.Bytes, int64(bytes))
}
