package schedules

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"usher/tools"
	"usher/tools/fault"
	"usher/tools/keylock"
	"usher/tools/scheduler"
	"usher/ucan"
	"usher/venue/runs"
	"usher/venue/store"
)

// Options says what a room works with. Every field but Most is needed.
type Options struct {
	Store  *store.Space // of the whole venue
	Runs   *runs.Book
	Gate   *tools.Gate
	Mint   *tools.Mint
	Agents agents
	Now    func() time.Time
	NewID  func() (string, error)
	Logger *slog.Logger

	// Charged returns ctx with the budgets that bind what comes of who scheduled, beside those
	// of agents; nil adds none.
	Charged func(ctx context.Context, auth tools.Authority) (context.Context, error)

	Most int // schedules of a principal, of which one agent makes at most a quarter; 0 is 1,000
}

// defaultMost bounds the schedules of a principal.
const defaultMost = 1000

// agents are those of the venue.
type agents interface {
	// Authority is that of the owner's agent, called by nobody.
	Authority(ctx context.Context, owner ucan.DID, id string) (tools.Authority, error)
}

// Room answers the operations on schedules, and fires them. It is safe for concurrent
// use.
type Room struct {
	Options
	changed  chan struct{}  // something may be due earlier than was known
	changing *keylock.Locks // of principals: who changes their schedules waits for the others who do
}

var _ scheduler.Service = (*Room)(nil)

// New returns a room.
func New(o Options) *Room {
	o.Most = cmp.Or(o.Most, defaultMost)
	return &Room{o, make(chan struct{}, 1), keylock.New()}
}

// note has Run look at once.
func (r *Room) note() {
	select {
	case r.changed <- struct{}{}:
	default: // it will
	}
}

// record is a schedule as it is stored. Times are milliseconds since 1970.
type record struct {
	ID        string            `json:"id"`
	Life      string            `json:"life"` // of this one, where another one had or gets its name
	Op        string            `json:"op"`   // that the gate resolves
	Input     json.RawMessage   `json:"input"`
	Cron      string            `json:"cron,omitempty"`
	Zone      string            `json:"zone,omitempty"`
	Policy    string            `json:"policy,omitempty"`
	Note      string            `json:"note,omitempty"`
	Agent     string            `json:"agent,omitempty"`
	Via       []string          `json:"via,omitempty"`
	Created   int64             `json:"created"`
	Next      int64             `json:"next,omitempty"`   // 0: it fires no more
	Past      int64             `json:"past,omitempty"`   // the last time that passed without a firing of its own
	Floor     int64             `json:"floor,omitempty"`  // the first one that did not long before it
	Missed    int               `json:"missed,omitempty"` // how many did then
	Since     int64             `json:"since,omitempty"`  // the first of those
	Last      *scheduler.Firing `json:"last,omitempty"`   // without what became of its job
	Error     string            `json:"error,omitempty"`  // why it never fires again
	Authority json.RawMessage   `json:"authority"`        // sealed: see [tools.Mint.Open]

	owner ucan.DID
	rev   uint64
}

const prefix = "e/"

func recKey(owner ucan.DID, id string) string { return Rows + owner.String() + "/" + id }

// timeKey is a key that sorts by a time.
func timeKey(kind string, ms int64, rest string) string {
	return fmt.Sprintf("%s%s%015d/%s", prefix, kind, ms, rest)
}

const (
	due  = "due/"
	past = "past/"
)

func (rec *record) of() string { return rec.owner.String() + "/" + rec.ID }

func (rec *record) key() string { return recKey(rec.owner, rec.ID) }

func (rec *record) endKey() string {
	return timeKey("done/"+rec.owner.String()+"/", rec.Last.Fired, rec.ID)
}

// maxRecord bounds the stored schedule, in bytes: its job has as much in its record.
const maxRecord = 384 << 10

// put adds the schedule to a batch in the place of old, which may be nil.
func (rec *record) put(with *runs.With, old *record) error {
	raw, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("write schedule %s: %w", rec.ID, err)
	}
	if len(raw) > maxRecord {
		return fault.New(fault.TooLarge, fmt.Sprintf("schedule %s takes %d bytes with its input and authority, at most %d: put what is long into the workspace, and have it read from there", rec.ID, len(raw), maxRecord))
	}
	for _, key := range rec.index() {
		with.Put[key] = []byte{}
	}
	with.Put[rec.key()] = raw
	if old == nil {
		return nil
	}
	for _, key := range old.index() {
		if with.Put[key] == nil {
			with.Del = append(with.Del, key)
		}
	}
	return nil
}

// drop removes the schedule in a batch.
func (rec *record) drop(with *runs.With) {
	with.Del = append(append(with.Del, rec.key()), rec.index()...)
}

// index is the rows by which the schedule is found when its time comes.
func (rec *record) index() (keys []string) {
	if rec.Next != 0 {
		keys = append(keys, timeKey(due, rec.Next, rec.of()))
	}
	if rec.Past != 0 {
		keys = append(keys, timeKey(past, rec.Past, rec.of()))
	}
	return keys
}

// batch is an empty batch that is conditional on the schedule as it was read.
func (rec *record) batch() *runs.With {
	return &runs.With{Expect: map[string]uint64{rec.key(): rec.rev}, Put: make(map[string][]byte, 4)}
}

// read returns a schedule; nil where there is none of that name.
func (r *Room) read(ctx context.Context, owner ucan.DID, id string) (*record, error) {
	raw, rev, err := r.Store.Get(ctx, recKey(owner, id))
	if err != nil || rev == 0 {
		return nil, err
	}
	return decode(raw, owner, rev)
}

func decode(raw []byte, owner ucan.DID, rev uint64) (*record, error) {
	rec := &record{owner: owner, rev: rev}
	if err := json.Unmarshal(raw, rec); err != nil {
		return nil, fmt.Errorf("read a schedule: %w", err)
	}
	return rec, nil
}

// find returns read for a caller: another owner's schedules look like none.
func (r *Room) find(ctx context.Context, call tools.Call, id string) (*record, error) {
	rec, err := r.read(ctx, call.Owner(), id)
	if err == nil && rec == nil {
		err = fault.New(fault.NotFound, fmt.Sprintf("there is no schedule %q", id))
	}
	return rec, err
}

// times is when the schedule fires again and again; the zero value of one that does not.
func (rec *record) times() (scheduler.Timetable, error) {
	if rec.Cron == "" {
		return scheduler.Timetable{}, nil
	}
	return scheduler.ParseCron(rec.Cron, rec.Zone)
}

// change reads and writes under conditions until one batch stands. f adds to the batch
// what is to be written; it is asked again where something moved.
func (r *Room) change(ctx context.Context, call tools.Call, f func(with *runs.With) error) error {
	held, _, err := r.changing.Lock(ctx, call.Owner().String())
	if err != nil {
		return err
	}
	defer held.Unlock()
	for range maxChanges {
		with := &runs.With{Expect: make(map[string]uint64, 2), Put: make(map[string][]byte, 4)}
		if err := f(with); err != nil {
			return err
		}
		if err := call.Again(ctx); err != nil {
			return err
		}
		moved, err := r.Store.Apply(ctx, with.Expect, with.Put, with.Del)
		if err != nil || moved == "" {
			return err
		}
	}
	return errChanging
}

// maxChanges bounds how often a change is made again because others changed the same.
const maxChanges = 100

var errChanging = fault.New(fault.Busy, "others keep changing the schedules, so nothing was changed: try again")
