package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"usher/caps"
	"usher/ucan"
)

const redacted = "[redacted]"

// Sealed declares that the input or the output of the operation holds a secret.
// The ledger keeps no digest of its input, by which a weak secret could be
// guessed, a panic of its handler is told without what it says, and whoever
// records calls leaves out what went in and came out: also of the calls that
// it came of, whose input and output may hold the same (see [Authority.Sealed]).
func Sealed() Option { return func(o *Operation) { o.sealed, o.undigested = true, true } }

// Undigested declares that the ledger keeps no digest of the operation's input:
// for one whose input carries that of another call, which has a row of its own.
func Undigested() Option { return func(o *Operation) { o.undigested = true } }

// Sealed reports whether what goes in and comes out may not be recorded.
func (o *Operation) Sealed() bool { return o.sealed }

// digest is what the ledger keeps of an input.
func (o *Operation) digest(input json.RawMessage) string {
	if o.undigested {
		return ""
	}
	sum := sha256.Sum256(input)
	return hex.EncodeToString(sum[:])
}

// mark says of one call whether it holds a secret. It hangs below that of the
// call, or the turn, that it came of.
type mark struct {
	above   *mark
	sealed  atomic.Bool
	unclear bool // what it starts cannot be told; set before the call runs
}

// spread marks the call and all that it came of.
func (m *mark) spread() {
	for ; m != nil; m = m.above {
		m.sealed.Store(true)
	}
}

func (m *mark) hides() bool { return m != nil && (m.unclear || m.sealed.Load()) }

// Sealed reports whether a sealed operation was run, or will be as far as can
// be told, by the call that the authority belongs to or by anything that came
// of it: neither its input nor its output may be recorded.
func (a Authority) Sealed() bool { return a.mark != nil && a.mark.sealed.Load() }

// Unclear reports that what the call would start cannot be told from its input,
// which may hold a secret and is not recorded.
func (a Authority) Unclear() bool { return a.mark != nil && a.mark.unclear }

// UnderSeal reports whether anything that the call came of is sealed by now:
// what it is given may be a secret that was taken out there.
func (a Authority) UnderSeal() bool {
	for m := a.mark; m != nil; m = m.above {
		if m.sealed.Load() {
			return true
		}
	}
	return false
}

// secrecy is what can be told beforehand of what a call holds.
type secrecy int

const (
	open secrecy = iota
	unclear
	sealed
)

// maxSeen bounds the operations that are looked at for one call; of what lies
// beyond nothing can be told.
const maxSeen = 1024

// foretell says whether the operation is sealed or starts one that is.
func (g *Gate) foretell(ctx context.Context, owner ucan.DID, op *Operation, input json.RawMessage, depth int, seen *int) (s secrecy) {
	if op.sealed {
		return sealed
	}
	if op.starts == nil && op.steps == nil {
		return open
	}
	defer func() {
		if recover() != nil { // the operation's own code: the call will tell
			s = unclear
		}
	}()
	inside := op.inside(input)
	if inside == nil {
		return unclear
	}
	for _, inv := range inside {
		if *seen++; *seen > maxSeen || depth == g.maxDepth {
			return max(s, unclear)
		}
		below := unclear
		if inner, err := g.registry.Resolve(ctx, owner, inv.Operation); err == nil {
			below = g.foretell(ctx, owner, inner, inv.Input, depth+1, seen)
		}
		if s = max(s, below); s == sealed {
			break
		}
	}
	return s
}

// Seals reports whether a call of the operation holds a secret, or may, as far
// as can be told before it is made.
func (g *Gate) Seals(ctx context.Context, owner ucan.DID, op *Operation, input json.RawMessage) bool {
	seen := 0
	return g.foretell(ctx, owner, op, input, 0, &seen) != open
}

// inside is what the operation would start; nil where that cannot be told.
func (o *Operation) inside(input json.RawMessage) []Invocation {
	if o.steps != nil {
		return o.steps(input)
	}
	if reference, inner, ok := o.Starts(input); ok {
		return []Invocation{{Operation: reference, Input: inner}}
	}
	return nil
}

// seal marks the call before anything of it is decided or told.
func (g *Gate) seal(ctx context.Context, r *ruling) {
	seen := 0
	switch g.foretell(ctx, r.auth.owner, r.op, r.input, r.auth.depth, &seen) {
	case open:
	case unclear:
		r.auth.mark.unclear = true
	case sealed:
		r.auth.mark.sealed.Store(true)
	}
}

// passSeal marks what a call came of, where the operation that runs is sealed.
// A denial tells nothing of the input; other errors quote it.
func passSeal(r *ruling, err error) {
	if _, denied := errors.AsType[*caps.Denial](err); !denied && r.op != nil && r.op.sealed {
		r.auth.mark.spread()
	}
}

// told is a failure as the ledger keeps it: of a call that holds a secret only
// what kind of failure it is.
func (m *mark) told(failure error) error {
	if failure == nil || !m.hides() {
		return failure
	}
	if _, denied := errors.AsType[*caps.Denial](failure); denied {
		return failure
	}
	return &quietError{failure}
}

type quietError struct{ error }

func (e *quietError) Error() string { return fmt.Sprintf("%s (%s)", redacted, ErrorType(e.error)) }
func (e *quietError) Unwrap() error { return e.error }
