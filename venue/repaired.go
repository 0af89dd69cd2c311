package venue

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"usher/venue/ledger"
	"usher/venue/store/journal"
)

// repairs is what was found wrong with the store and mended, until the ledger has it.
type repairs struct {
	told func(text string)
	more chan struct{}

	mu     sync.Mutex
	unsaid []journal.Event
}

// maxUnsaid bounds what waits for the ledger. The log has all.
const maxUnsaid = 100

func newRepairs(told func(string)) *repairs {
	if told == nil {
		told = func(string) {}
	}
	return &repairs{told: told, more: make(chan struct{}, 1)}
}

// add is called by the store, and does not use it.
func (r *repairs) add(e journal.Event) {
	r.told(e.Text)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.unsaid) == maxUnsaid {
		return
	}
	r.unsaid = append(r.unsaid, e)
	select {
	case r.more <- struct{}{}:
	default: // it is known
	}
}

func (r *repairs) next() (e journal.Event, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.unsaid) == 0 {
		return e, false
	}
	return r.unsaid[0], true
}

func (r *repairs) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unsaid = r.unsaid[1:]
}

// noteRepairs writes what was mended to the ledger, until Close. What cannot be written, since the
// disk is full, is tried again.
func (v *Venue) noteRepairs() {
	again := time.NewTicker(time.Minute)
	defer again.Stop()
	for {
		v.noteMends()
		select {
		case <-v.repairs.more:
		case <-again.C:
		case <-v.closing.Done():
			v.noteMends()
			return
		}
	}
}

// repairNote is what a row of the ledger tells of a repair.
type repairNote struct {
	At   string `json:"at"`
	Text string `json:"text"`
}

func (v *Venue) noteMends() {
	for e, ok := v.repairs.next(); ok; e, ok = v.repairs.next() {
		detail := repairNote{e.Time.UTC().Format(time.RFC3339Nano), e.Text}
		if _, err := v.ledger.Note(context.WithoutCancel(v.closing), "the store was repaired", detail, ledger.Batch{}); err != nil {
			v.log.Warn("a repair of the store is not in the audit ledger", slog.Any("error", err))
			return
		}
		v.repairs.drop()
	}
}
