package tools

import (
	"errors"

	"usher/caps"
	"usher/caps/value"
	"usher/tools/fault"
)

// WithSeal declares that the input or the output of the operation holds a secret.
// It answers direct calls alone: a user's, or one that an agent's model asks for,
// and never a step, a job, or an entry of a context. The ledger keeps no digest of
// its input, a panic of its handler is told without what it says, and whoever
// records calls leaves out what went in and came out.
func WithSeal() Option { return func(o *Operation) { o.sealed, o.undigested = true, true } }

// WithoutDigest declares that the ledger keeps no digest of the operation's input:
// for one whose input carries that of another call, which has a row of its own.
func WithoutDigest() Option { return func(o *Operation) { o.undigested = true } }

// IsSealed reports whether what goes in and comes out may not be recorded.
func (o *Operation) IsSealed() bool { return o.sealed }

// digestInput returns what the ledger makes a digest of.
func (o *Operation) digestInput(input []byte) []byte {
	if o.undigested {
		return nil
	}
	return input
}

// discreet is a failure as the ledger keeps it: of a sealed operation only what
// kind of failure it is.
func (o *Operation) discreet(failure error) error {
	if _, denied := errors.AsType[*caps.Denial](failure); failure == nil || !o.sealed || denied {
		return failure
	}
	code := fault.Of(failure)
	return fault.New(code, value.Redacted+" ("+string(code)+")")
}
