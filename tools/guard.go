package tools

import (
	"context"
	"fmt"
)

// Verdict is what a gate makes of a call.
type Verdict int

// Verdicts, each tighter than the one before.
const (
	Allow Verdict = iota
	Ask           // a person has to approve the call first
	Deny
)

func (v Verdict) String() string {
	switch v {
	case Allow:
		return Allowed
	case Ask:
		return Asked
	default:
		return Denied
	}
}

// Guard looks at a call that the capabilities allow, and may tighten that. Guards
// are asked in their order, after everything else; the tightest answer counts. A
// guard that panics denies.
type Guard interface {
	// Guard returns its verdict and, unless that is Allow, the reason in a
	// sentence for whoever calls.
	Guard(ctx context.Context, r *Ruling) (verdict Verdict, why string)
}

// GuardError says that a guard does not let a call through that the capabilities
// allow.
type GuardError struct {
	Operation string // catalogue path
	Verdict   Verdict
	Why       string
}

func (e *GuardError) Error() string {
	if e.Verdict == Ask {
		return fmt.Sprintf("%s needs the approval of a person: %s", e.Operation, e.Why)
	}
	return fmt.Sprintf("%s is refused: %s", e.Operation, e.Why)
}

// guard asks the guards of the gate.
func (g *Gate) guard(ctx context.Context, r *Ruling) (err error) {
	if len(g.guards) == 0 {
		return nil
	}
	defer g.recovered(ctx, r.op, &err)
	tightest := GuardError{Operation: r.op.path}
	for _, guard := range g.guards {
		if v, why := guard.Guard(ctx, r); v != Allow && (v > tightest.Verdict || v < Allow) {
			tightest.Verdict, tightest.Why = v, why
		}
	}
	if tightest.Verdict != Allow {
		return &tightest
	}
	return nil
}
