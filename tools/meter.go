package tools

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"

	"usher/caps/value"
)

// Kind is something that a [Meter] counts.
type Kind int

// What is counted for a call tree.
const (
	Calls    Kind = iota // calls at the gate
	Bytes                // of values read and written
	Steps                // of orchestrations, of searches, of validation
	Patterns             // bytes of compiled patterns
	Runs                 // runs that were begun in the background
	kinds
)

// kindsOf says of each kind what it is, what its limit is called in
// configurations, what it is called in JSON, and its limit where none is set.
var kindsOf = [kinds]struct {
	text, setting, key string
	limit              int64
}{
	{"calls", "calls", "calls", 10_000},
	{"bytes of values read and written", "values", "bytes", 64 << 20},
	{"steps", "steps", "steps", 100_000},
	{"bytes of compiled patterns", "patterns", "patterns", 10 << 20},
	{"background runs", "runs_begun", "runs", 1000},
}

func (k Kind) String() string { return kindsOf[k].text }

// Amounts are one for each [Kind]: what may be counted, or what was.
type Amounts struct {
	Calls    int64 `json:"calls,omitempty"`
	Bytes    int64 `json:"bytes,omitempty"`
	Steps    int64 `json:"steps,omitempty"`
	Patterns int64 `json:"patterns,omitempty"`
	Runs     int64 `json:"runs,omitempty"`
}

func (a *Amounts) of(k Kind) int64 {
	return [kinds]int64{a.Calls, a.Bytes, a.Steps, a.Patterns, a.Runs}[k]
}

// Write writes the amounts as a member: each turn stores them a few times.
func (a *Amounts) Write(w *value.Writer, name string) {
	w.Begin(name)
	for k := range kinds {
		w.Count(kindsOf[k].key, a.of(k))
	}
	w.End()
}

// LimitError says which limit a call tree has reached.
type LimitError struct {
	Kind  Kind
	Limit int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("limit of %d %s reached by all that came of one first call: ask for less at a time, or raise limits.%s", e.Limit, e.Kind, kindsOf[e.Kind].setting)
}

// Is lets errors.Is compare kinds: a LimitError without a limit stands for any.
func (e *LimitError) Is(target error) bool {
	t, ok := target.(*LimitError)
	return ok && t.Kind == e.Kind && (t.Limit == 0 || t.Limit == e.Limit)
}

// Meter counts what comes of one first call, however it branches. A nil Meter
// counts nothing. It is safe for concurrent use.
type Meter struct {
	limits Amounts
	spent  [kinds]atomic.Int64
}

// NewMeter returns a meter that nothing was charged to. A limit of zero takes its
// default: 10,000 calls, 64 MiB of values, 100,000 steps, 10 MiB of patterns, 1,000
// background runs.
func NewMeter(limits Amounts) *Meter { return &Meter{limits: limits} }

// Charge counts n more of a kind. The error is a [*LimitError] where that is
// beyond the limit, or the cause why ctx has ended.
func (m *Meter) Charge(ctx context.Context, kind Kind, n int64) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if m == nil || n <= 0 {
		return nil
	}
	if limit := cmp.Or(m.limits.of(kind), kindsOf[kind].limit); m.spent[kind].Add(n) > limit {
		return &LimitError{kind, limit}
	}
	return nil
}

// ChargeSchema counts the work of checking values against schemas.
func (m *Meter) ChargeSchema(ctx context.Context, steps, patterns int64) error {
	if err := m.Charge(ctx, Steps, steps); err != nil {
		return err
	}
	return m.Charge(ctx, Patterns, patterns)
}

// Amounts returns what was counted so far.
func (m *Meter) Amounts() Amounts {
	if m == nil {
		return Amounts{}
	}
	at := func(k Kind) int64 { return m.spent[k].Load() }
	return Amounts{at(Calls), at(Bytes), at(Steps), at(Patterns), at(Runs)}
}

// AtLeast counts what was spent before the meter was made anew: as much as a says of each
// kind, where it has counted less.
func (m *Meter) AtLeast(a Amounts) {
	if m == nil {
		return
	}
	for k := range kinds {
		for want := a.of(k); ; {
			spent := m.spent[k].Load()
			if spent >= want || m.spent[k].CompareAndSwap(spent, want) {
				break
			}
		}
	}
}

func (m *Meter) add(a *Amounts) {
	for k := range kinds {
		m.spent[k].Add(a.of(k))
	}
}
