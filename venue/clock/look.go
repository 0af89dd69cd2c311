package clock

import (
	"context"
	"log/slog"
	"time"

	"usher/venue/ledger"
)

// finding is what was found of the clock, as a row of the ledger tells it.
type finding struct {
	note string

	By      string `json:"by"`
	From    string `json:"from"` // the last time that was seen, or where it should have been
	To      string `json:"to"`
	Highest string `json:"highest"` // time that the venue had seen before
}

// look compares the clock with the last time that was seen and with what has
// passed since the last look, and says what is wrong. The caller holds mu.
func (c *Clock) look(ctx context.Context) {
	now, at := c.opts.Now(), time.Now()
	began, running := c.rec.Seen == 0, !c.then.IsZero()
	seen := time.UnixMilli(max(c.rec.Seen, c.seen.Load()))
	highest := time.UnixMilli(max(c.rec.Highest, seen.UnixMilli()))
	due := seen // when nothing tells what has passed since
	if running {
		due = c.wall.Add(at.Sub(c.then))
	}
	back, ahead := seen.Sub(now), now.Sub(due)
	switch {
	case began:
	case back > slack:
		c.find(ctx, "the clock stepped back", back, seen, now, highest)
	case running && ahead > leap:
		c.find(ctx, "the clock leapt forward", ahead, due, now, highest)
	}
	switch doubt := time.UnixMilli(c.rec.Doubt); {
	case began:
	case ahead > settle, back > settle, back > slack && c.rec.Doubt != 0: // then it is not known which time was wrong
		c.rec.Doubt = now.UnixMilli()
	case c.rec.Doubt != 0 && now.Sub(doubt) > settle:
		c.rec.Doubt = 0
	}
	if back > slack {
		seen = now
	}
	if now.After(seen) {
		seen = now
	}
	if seen.After(highest) {
		highest = seen
	}
	c.rec.Seen, c.rec.Highest = seen.UnixMilli(), highest.UnixMilli()
	c.seen.Store(c.rec.Seen)
	c.wall, c.then = now, at
	c.say(ctx)
}

func (c *Clock) find(ctx context.Context, note string, by time.Duration, from, to, highest time.Time) {
	by = by.Round(time.Millisecond)
	c.opts.Logger.WarnContext(ctx, note, slog.Duration("by", by), slog.Time("from", from), slog.Time("to", to), slog.Time("highest", highest))
	text := func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
	c.unsaid = append(c.unsaid, finding{note, by.String(), text(from), text(to), text(highest)})
}

// say writes what was found to the ledger, with the record, so that each is said
// once. What fails is tried again at the next look.
func (c *Clock) say(ctx context.Context) {
	for len(c.unsaid) > 0 {
		f := c.unsaid[0]
		_, err := c.ledger.Note(ctx, f.note, f, ledger.Batch{Put: map[string][]byte{recordKey: c.rec.encode()}})
		if err != nil {
			c.opts.Logger.ErrorContext(ctx, "what the clock did is not in the audit ledger", "note", f.note, "error", err)
			return
		}
		c.stored, c.unsaid = c.rec.Seen, c.unsaid[1:]
	}
}
