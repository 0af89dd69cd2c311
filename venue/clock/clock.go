// Package clock is the room of a venue that watches its clock, by which tokens
// expire and what is old is removed. [Open] reads the highest time that the venue
// has seen, [Clock.Now] is the time from then on, [Clock.Watch] compares it with
// what it should be, and [Clock.Close] keeps what was seen.
//
// A clock that steps back below the last time that was seen, or leaps forward by
// more than an hour beyond what has passed since, is said once: in the log, and as
// a row of the ledger. While the venue runs, the operating system's monotonic
// clock says what has passed; a machine that slept looks like a leap. Between two
// openings nothing says it, so that a leap forward cannot be told from a pause,
// and is not said.
//
// What is removed by its age goes by [Clock.Sure]. After a leap, a step back or a
// pause of more than a day the clock is in doubt until it has gone on for a day, and until then
// nothing is removed: one opening with a wrong clock removes nothing.
//
// The record under "v/clock" is written with such a row, when the time that calls
// have seen is a minute further, and by Close.
package clock

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"usher/venue/ledger"
	"usher/venue/store"
)

const (
	every  = time.Minute    // between two looks at the clock, and at least between two writes
	slack  = time.Second    // by which a clock is set back without a word
	leap   = time.Hour      // forward, beyond what has passed, that is said
	settle = 24 * time.Hour // a longer leap, step or pause makes the clock doubtful, for as long

	recordKey = "v/clock"
)

// record is what is stored.
type record struct { // times in milliseconds since 1970
	Highest int64 `json:"highest"`         // that was seen
	Seen    int64 `json:"seen"`            // last; below Highest after a step back
	Doubt   int64 `json:"doubt,omitempty"` // since when the clock is in doubt; 0 when it is not
}

// Options says what a clock works with. Every field is needed.
type Options struct {
	Store  *store.Space // of the whole venue
	Now    func() time.Time
	Logger *slog.Logger
}

// Clock is a clock that is watched. It is safe for concurrent use.
type Clock struct {
	opts Options
	seen atomic.Int64  // the last time that was seen, by calls too, in milliseconds since 1970
	used atomic.Bool   // a call has seen a later one than the last look
	back chan struct{} // the clock stands before it

	mu     sync.Mutex // guards what follows, and is held while it is written
	ledger *ledger.Ledger
	rec    record
	stored int64     // Seen as it is stored
	wall   time.Time // by the clock when it was looked at last
	then   time.Time // by the monotonic clock
	unsaid []finding
}

// Open reads what the store knows of the clock.
func Open(ctx context.Context, opts Options) (*Clock, error) {
	rec, err := read(ctx, opts.Store)
	if err != nil {
		return nil, err
	}
	c := &Clock{opts: opts, back: make(chan struct{}, 1), rec: rec, stored: rec.Seen}
	c.seen.Store(rec.Seen)
	return c, nil
}

// read reads the record out of the whole store of a venue.
func read(ctx context.Context, space *store.Space) (rec record, err error) {
	raw, _, err := space.Get(ctx, recordKey)
	if err == nil && raw != nil {
		err = json.Unmarshal(raw, &rec)
	}
	if err != nil {
		return rec, fmt.Errorf("read the highest time seen: %w", err)
	}
	return rec, nil
}

// Highest reads the highest time that a venue has seen out of its store; zero where
// nothing is known.
func Highest(ctx context.Context, space *store.Space) (time.Time, error) {
	rec, err := read(ctx, space)
	if err != nil || rec.Highest == 0 {
		return time.Time{}, err
	}
	return time.UnixMilli(rec.Highest), nil
}

// Now is the time. It notices a clock that was set back.
func (c *Clock) Now() time.Time {
	now := c.opts.Now()
	switch ms, seen := now.UnixMilli(), c.seen.Load(); {
	case ms < seen-slack.Milliseconds():
		select {
		case c.back <- struct{}{}:
		default: // it is known
		}
	case ms > seen+slack.Milliseconds():
		c.seen.CompareAndSwap(seen, ms) // or another call has seen as much
		c.used.Store(true)
	}
	return now
}

// Start compares the clock with what was seen before the venue was opened. What it
// finds goes to the ledger, whose last row says what was seen where nothing else
// does.
func (c *Clock) Start(ctx context.Context, l *ledger.Ledger) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ledger = l
	if c.rec.Seen == 0 {
		row, err := l.Newest(ctx)
		if err != nil {
			return fmt.Errorf("read the highest time seen: %w", err)
		}
		if row.Seq > 0 {
			c.rec.Seen = row.Time.UnixMilli()
		}
	}
	c.look(ctx)
	return nil
}

// Watch looks at the clock until ctx ends.
func (c *Clock) Watch(ctx context.Context) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-c.back:
		case <-ctx.Done():
			return
		}
		if ctx.Err() != nil {
			return
		}
		c.mu.Lock()
		whole := context.WithoutCancel(ctx)
		c.look(whole)
		if c.rec.Seen-c.stored >= every.Milliseconds() && c.used.Swap(false) {
			c.write(whole)
		}
		c.mu.Unlock()
	}
}

// Sure is the time by which what is old may be removed, unless the clock is in
// doubt: then nothing may.
func (c *Clock) Sure(ctx context.Context) (now time.Time, sure bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look(ctx)
	return time.UnixMilli(c.rec.Seen), c.rec.Doubt == 0
}

// WasSure is [Clock.Sure] by the last look, without one: nothing is sure before Start.
func (c *Clock) WasSure() (now time.Time, sure bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.UnixMilli(c.rec.Seen), c.ledger != nil && c.rec.Doubt == 0
}

// Close looks at the clock once more, and keeps what was seen.
func (c *Clock) Close(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ledger == nil {
		return // it was never started
	}
	c.look(ctx)
	c.write(ctx)
}

// write stores the record. What fails is tried again later.
func (c *Clock) write(ctx context.Context) {
	if _, err := c.opts.Store.Apply(ctx, nil, map[string][]byte{recordKey: c.rec.encode()}, nil); err != nil {
		c.opts.Logger.WarnContext(ctx, "the highest time seen is not stored", "error", err)
		return
	}
	c.stored = c.rec.Seen
}

func (r *record) encode() []byte {
	raw, _ := json.Marshal(r) // of numbers
	return raw
}
