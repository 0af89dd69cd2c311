package tools

import (
	"context"
	"fmt"

	"usher/tools/fault"
)

// Guard looks at a call that the capabilities allow, and may tighten that. Guards
// are asked in their order, after everything else; the tightest answer counts. A
// guard that panics denies.
type Guard interface {
	// Guard returns [Allowed], [Asked] or [Denied] and, unless it is the first, the reason in a
	// sentence for whoever calls.
	Guard(ctx context.Context, r *Ruling) (verdict, why string)
}

// guardError says that a guard does not let a call through that the capabilities
// allow.
type guardError struct {
	operation    string // catalogue path
	verdict, why string
	approval     string // id of the request that waits for a person; empty: of none
	details      any    // what a refusal tells beside its text; nil for nothing
}

func (e *guardError) Error() string {
	if e.verdict == Asked {
		return fmt.Sprintf("%s needs the approval of a person: %s", e.operation, e.why)
	}
	return fmt.Sprintf("%s is refused: %s", e.operation, e.why)
}

var _ fault.Detailer = (*guardError)(nil)

// Details are those of the refusal.
func (e *guardError) Details() any { return e.details }

// Code is [fault.ApprovalRequired] where a person may allow it.
func (e *guardError) Code() fault.Code {
	if e.verdict == Asked {
		return fault.ApprovalRequired
	}
	return fault.Refused
}

// guard asks the guards of the gate, of a call that the terms of capabilities let
// through or, where asked is not nil, ask about.
func (g *Gate) guard(ctx context.Context, r *Ruling, asked *guardError) (err error) {
	if asked == nil && len(g.opts.Guards) == 0 {
		return nil
	}
	tightest := asked
	defer g.recoverPanic(ctx, r.op, &err)
	for _, guard := range g.opts.Guards {
		verdict, why := guard.Guard(ctx, r)
		switch {
		case verdict == Allowed, tightest != nil && (tightest.verdict == Denied || verdict == Asked):
			continue
		case verdict != Asked:
			verdict = Denied
		}
		tightest = &guardError{operation: r.op.path, verdict: verdict, why: why}
	}
	if tightest == nil {
		return nil
	}
	return tightest
}
