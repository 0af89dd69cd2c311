package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"usher/runtime"
	"usher/tools"
	"usher/tools/fault"
	"usher/ucan"
	"usher/venue/ledger"
	"usher/venue/store"
)

// Options says what a book works with. Every field but the last four is needed.
type Options struct {
	Store    *store.Space   // of the whole venue
	Ledger   *ledger.Ledger // that the gate's decisions go to
	Spending spending
	Now      func() time.Time
	NewID    func() (string, error)
	Logger   *slog.Logger

	// Notes is told how runs come to stand. Nil is nobody.
	Notes Notes

	// Forget forgets what a session of a life has spent, which is removed. Nil
	// forgets nothing.
	Forget func(ctx context.Context, of tools.Life, session string) error

	AtOnce  int           // background runs of a principal that execute at once, of which one agent takes a quarter; 0 is 64
	MaxTime time.Duration // of a background run; 0 is 1 h
	Grace   time.Duration // that Close waits; 0 is [DefaultGrace]
}

// spending stores what was spent with the log entry that it belongs to.
type spending interface {
	// Draft adds to put, under keys of the whole store, the totals that are not
	// stored yet of all that ctx is charged to. It returns what to call with the
	// outcome of the write; nil where there is nothing to write.
	Draft(ctx context.Context, put map[string][]byte) (written func(stored bool))
	// Forget forgets what was spent in a run, "<owner>/<id>", and returns the keys to remove
	// with its record.
	Forget(ctx context.Context, run string) (keys []string, err error)
}

// Notes keeps who is to be told of runs.
type Notes interface {
	// Draft adds to put, under keys of the whole store, what is to be stored with a run that
	// has ended, or waits, as the record says. It must not wait.
	Draft(owner ucan.DID, rec *Record, put map[string][]byte)
	// OnStore says that a run was stored, with what Draft has added.
	OnStore(owner ucan.DID, run string)
	// Beside is below which keys of the whole store lies what goes with a run: "<owner>/<id>".
	Beside(run string) (prefix string)
}

// Book keeps the runs of a venue. It is safe for concurrent use.
type Book struct {
	opts     Options
	sessions Sessions

	process []byte // what marks the runs that are this one's

	saying sync.Mutex // held while a person says what came of a call; taken before all others

	mu       sync.Mutex
	driver   Driver
	works    bool                     // runs that rest go on here
	resuming map[string]chan struct{} // by id, runs that are about to be live
	work     work
	live     map[string]*Run // by id
	watches  []*watch
	busy     map[place]int        // background runs that execute now
	short    map[ucan.DID][]short // runs that are to go on and found no room, the first first
	closed   bool
}

var (
	// ErrTooMany: as many runs of a principal execute in the background as may.
	ErrTooMany = fault.New(fault.TooManyRuns, "too many jobs run at once: wait for some to end, or raise limits.runs")
	// ErrMoved: what a run was to be stored with has changed, or there is a run of its id.
	ErrMoved = fault.New(fault.Busy, "the job did not begin: what it rests on has changed")
	// errTime: a run in the background took longer than the limit.
	errTime = fault.New(fault.Timeout, "the job ran longer than it may (limits.run_time)")
	// errClosed: the venue closes and starts nothing more.
	errClosed = fault.New(fault.Stopped, "the venue closes: nothing more is started")
	// ErrInterrupted: the venue stopped while the run executed.
	ErrInterrupted = fault.New(fault.Stopped, "interrupted: the venue stopped while the job ran; what it had done by then is in the audit ledger")
)

const prefix = "r/"

func runKey(owner ucan.DID, id string) string { return prefix + "run/" + owner.String() + "/" + id }

func openKey(owner ucan.DID, id string) string { return prefix + "open/" + owner.String() + "/" + id }

func holdKey(owner ucan.DID, id string) string { return prefix + "hold/" + owner.String() + "/" + id }

// logKey is where the entry of a number lies in a run's own log; or all of them, with none.
func logKey(owner ucan.DID, id, seq string) string {
	return prefix + "log/" + owner.String() + "/" + id + "/" + seq
}

// keysOf is where the runs of keys are: <owner>/<key>.
const keysOf = prefix + "key/"

func callKey(owner ucan.DID, key string) string { return keysOf + owner.String() + "/" + key }

// Open opens the book. Runs that have not ended rest until [Book.Drive] or
// [Book.Wake].
func Open(ctx context.Context, opts Options) (*Book, error) {
	if opts.AtOnce == 0 {
		opts.AtOnce = 64
	}
	if opts.MaxTime == 0 {
		opts.MaxTime = time.Hour
	}
	opts.Grace = cmp.Or(opts.Grace, DefaultGrace)
	b := &Book{opts: opts, live: make(map[string]*Run), resuming: make(map[string]chan struct{}), busy: make(map[place]int), short: make(map[ucan.DID][]short)}
	b.work.direct, b.work.calls = make(map[uint64]context.CancelCauseFunc), make(map[uint64]bool)
	if err := b.sessions.init(ctx, b); err != nil {
		return nil, fmt.Errorf("open runs: %w", err)
	}
	id, err := opts.NewID()
	b.process = []byte(id)
	return b, err
}

// steps reads the steps of an orchestration from its log, as each stood last.
func (b *Book) steps(ctx context.Context, owner ucan.DID, id string) (steps []runtime.Step, err error) {
	for row, err := range store.Rows(ctx, b.opts.Store, logKey(owner, id, ""), "") {
		if err != nil {
			return nil, err
		}
		var e runtime.Entry
		if err := json.Unmarshal(row.Value, &e); err != nil {
			return nil, err
		}
		if s, ok := e.Event.(runtime.Step); ok {
			steps = place1(steps, s)
		}
	}
	return steps, nil
}

// Live returns the owner's run of the id while it executes, or nil.
func (b *Book) Live(owner ucan.DID, id string) *Run {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.live[id]; r != nil && r.owner == owner {
		return r
	}
	return nil
}

// LiveRuns returns the runs that execute now, in no order.
func (b *Book) LiveRuns() []*Run {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Values(b.live))
}

// RestCount is how many runs rest; -1 where that cannot be read.
func (b *Book) RestCount(ctx context.Context) (n int) {
	for _, err := range store.Keys(ctx, b.opts.Store, prefix+"hold/", "") {
		if err != nil {
			return -1
		}
		n++
	}
	return n
}

// Find returns the record of a run. Another owner's looks like none.
func (b *Book) Find(ctx context.Context, owner ucan.DID, id string) (Record, error) {
	if r := b.Live(owner, id); r != nil {
		return r.Record(), nil
	}
	raw, _, err := b.opts.Store.Get(ctx, runKey(owner, id))
	if err != nil {
		return Record{}, err
	}
	if raw == nil {
		return Record{}, noRun(id) // also when another has it
	}
	var rec Record
	if err := json.Unmarshal(raw, &rec); err != nil {
		return Record{}, fmt.Errorf("read run %s: %w", id, err)
	}
	return rec, nil
}

func noRun(id string) error { return fault.New(fault.NotFound, fmt.Sprintf("there is no run %q", id)) }

// List returns the owner's runs, the latest first: those before the id before,
// if one is given, limit of them at most. more is where the next page begins,
// empty when nothing follows.
func (b *Book) List(ctx context.Context, owner ucan.DID, before string, limit int) (list []Record, more string, err error) {
	all := runKey(owner, "")
	from := ""
	if before != "" {
		from = all + before
	}
	rows, next, err := b.opts.Store.PageBack(ctx, all, from, limit+1)
	if err != nil {
		return nil, "", err
	}
	for _, row := range rows {
		id := row.Key[len(all):]
		if id == before {
			continue
		}
		if len(list) == limit {
			return list, list[limit-1].ID, nil
		}
		rec, err := b.Find(ctx, owner, id)
		if err != nil {
			return nil, "", err
		}
		list = append(list, rec)
	}
	if next != "" && len(list) > 0 {
		more = list[len(list)-1].ID
	}
	return list, more, nil
}

// Part is a run that another is part of.
type Part struct {
	Owner ucan.DID
	Record
}

// Name is that of the run among those of all owners: "<owner>/<id>".
func (p *Part) Name() string { return p.Owner.String() + "/" + p.ID }

// maxNested is more than calls can nest.
const maxNested = 64

// Above lists the runs that a run of owner's is part of, the outermost first, as far as
// something is kept of them.
func (b *Book) Above(ctx context.Context, owner ucan.DID, rec *Record) (list []Part, err error) {
	for range maxNested {
		if rec.Parent == "" {
			break
		}
		owner = rec.above(owner)
		parent, err := b.Find(ctx, owner, rec.Parent)
		if fault.Of(err) == fault.NotFound {
			break
		}
		if err != nil {
			return nil, err
		}
		list = append(list, Part{owner, parent})
		rec = &parent
	}
	slices.Reverse(list)
	return list, nil
}

// Within reports whether the run id is, or is part of, the run whole.
func (b *Book) Within(owner ucan.DID, id, whole string) bool {
	for range maxNested {
		if id == whole {
			return true
		}
		r := b.Live(owner, id)
		if r == nil {
			return false
		}
		id = r.rec.Parent
	}
	return true
}

// Sessions returns the conversations.
func (b *Book) Sessions() *Sessions { return &b.sessions }

var _ tools.Ledger = (*Book)(nil)
