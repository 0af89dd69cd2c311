package tools

import (
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

var kindNames = [kinds]string{"calls", "bytes of values read and written", "steps", "bytes of compiled patterns", "background runs"}

// settings are what the limits are called in configurations.
var settings = [kinds]string{"calls", "values", "steps", "patterns", "runs_begun"}

func (k Kind) String() string { return kindNames[k] }

// Limits bounds all that comes of one first call. A zero field takes its
// default: 10,000 calls, 64 MiB of values, 100,000 steps, 10 MiB of patterns,
// 1,000 background runs.
type Limits struct{ Calls, Bytes, Steps, Patterns, Runs int64 }

func (l Limits) of(k Kind) int64 {
	given := [kinds]int64{l.Calls, l.Bytes, l.Steps, l.Patterns, l.Runs}[k]
	if given > 0 {
		return given
	}
	return [kinds]int64{10_000, 64 << 20, 100_000, 10 << 20, 1000}[k]
}

// LimitError says which limit a call tree has reached.
type LimitError struct {
	Kind  Kind
	Limit int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("limit of %d %s reached by all that came of one first call: ask for less at a time, or raise limits.%s", e.Limit, e.Kind, settings[e.Kind])
}

// Is lets errors.Is compare kinds: a LimitError without a limit stands for any.
func (e *LimitError) Is(target error) bool {
	t, ok := target.(*LimitError)
	return ok && t.Kind == e.Kind && (t.Limit == 0 || t.Limit == e.Limit)
}

// Meter counts what comes of one first call, however it branches. A nil Meter
// counts nothing. It is safe for concurrent use.
type Meter struct {
	limits Limits
	spent  [kinds]atomic.Int64
}

// NewMeter returns a meter that nothing was charged to.
func NewMeter(limits Limits) *Meter { return &Meter{limits: limits} }

// Charge counts n more of a kind. The error is a [*LimitError] where that is
// beyond the limit, or the cause why ctx has ended.
func (m *Meter) Charge(ctx context.Context, kind Kind, n int64) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if m == nil || n <= 0 {
		return nil
	}
	if limit := m.limits.of(kind); m.spent[kind].Add(n) > limit {
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

// Spent is what a meter has counted.
type Spent struct {
	Calls    int64 `json:"calls,omitempty"`
	Bytes    int64 `json:"bytes,omitempty"`
	Steps    int64 `json:"steps,omitempty"`
	Patterns int64 `json:"patterns,omitempty"`
	Runs     int64 `json:"runs,omitempty"`
}

// Spent returns what was counted so far.
func (m *Meter) Spent() Spent {
	if m == nil {
		return Spent{}
	}
	at := func(k Kind) int64 { return m.spent[k].Load() }
	return Spent{at(Calls), at(Bytes), at(Steps), at(Patterns), at(Runs)}
}

// JSON is what encoding/json makes of it: each turn stores one.
func (s *Spent) JSON() []byte {
	w := value.NewWriter(96)
	for _, kind := range [...]struct {
		name string
		n    int64
	}{{"calls", s.Calls}, {"bytes", s.Bytes}, {"steps", s.Steps}, {"patterns", s.Patterns}, {"runs", s.Runs}} {
		if kind.n != 0 {
			w.Int(kind.name, kind.n)
		}
	}
	return w.Object()
}

func (m *Meter) add(s Spent) {
	for k, n := range [kinds]int64{s.Calls, s.Bytes, s.Steps, s.Patterns, s.Runs} {
		m.spent[k].Add(n)
	}
}
