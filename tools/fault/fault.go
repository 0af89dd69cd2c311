// Package fault names what went wrong by codes, for models, programs, traces and
// exit statuses: [Of] is the code of an error. A package makes its sentinels by
// [New]; an error type of its own is a [Coder]. What a code is called at a face,
// such as a status of HTTP, stands beside that face.
package fault

import (
	"context"
	"errors"
	"strconv"

	"usher/caps"
)

// Code is what went wrong, in a word that quotes nothing.
type Code string

// The codes. Those of a model's server are its status, see [Status].
const (
	Denied           Code = "capability_denied" // a [caps.Denial]
	Unauthenticated  Code = "unauthenticated"   // nobody knows who calls
	InvalidInput     Code = "invalid_input"     // a corrected call may succeed
	NotFound         Code = "not_found"
	NoRoute          Code = "no_route"    // nothing is there, whatever is sent
	KeyReused        Code = "key_reused"  // for another request
	Unavailable      Code = "unavailable" // somebody else's server, for now
	TooLarge         Code = "too_large"
	TooDeep          Code = "too_deep"
	LimitReached     Code = "limit_reached" // of a call tree
	TooManyRuns      Code = "too_many_runs" // at once
	DirectOnly       Code = "direct_only"   // a secret would flow through records
	ApprovalRequired Code = "approval_required"
	InputRequired    Code = "input_required" // of whoever calls
	Waiting          Code = "waiting"        // it goes on when something else has ended
	Panic            Code = "panic"
	NoRequirements   Code = "no_requirements"
	ForeignAuthority Code = "foreign_authority"
	WaitsForItself   Code = "waits_for_itself"
	Context          Code = "context" // an agent's, which could not be loaded
	ModelCalls       Code = "model_calls"
	Output           Code = "output" // does not fit its schema
	Window           Code = "window" // of a model, which the conversation does not fit
	Cut              Code = "cut"    // a model's answer
	Refused          Code = "refused"
	Format           Code = "format" // a model's server speaks another language
	RateLimited      Code = "rate_limited"
	NotRecorded      Code = "not_recorded" // in a cassette
	BudgetSpent      Code = "budget_spent"
	BudgetRaise      Code = "budget_raise_denied"
	NoPrice          Code = "no_price"
	Busy             Code = "busy" // others change the same thing all the time
	InTheWay         Code = "in_the_way"
	NoLedger         Code = "ledger" // it does not hold
	Stopped          Code = "stopped"
	Canceled         Code = "canceled"
	Timeout          Code = "timeout"
	Unknown          Code = "unknown"     // whether it took effect: look before it is done again
	Interrupted      Code = "interrupted" // the process ended while it ran
	TaskFailed       Code = "task_failed" // by the agent that had it
	Failed           Code = "failed"      // whatever has no code of its own
)

// Status is the code of a model's server that answers with a status of HTTP.
func Status(status int) Code { return Code(strconv.Itoa(status)) }

// Retryable reports whether the call may succeed when it is made again, after it
// was corrected where it was wrong.
func (c Code) Retryable() bool {
	switch c {
	case InvalidInput, NotFound, Timeout, Busy, Unavailable:
		return true
	}
	return false
}

// Coder is an error with a code.
type Coder interface {
	error
	Code() Code
}

// Detailer is a [Coder] error with something to tell beside its text.
type Detailer interface {
	Coder
	Details() any // as JSON
}

// Of is the code of an error: that of a denial in it, or of the outermost [Coder]
// one. It is "" for none, and [Failed] for an error that nobody gave a code.
func Of(err error) Code {
	if err == nil {
		return ""
	}
	if _, denied := errors.AsType[*caps.Denial](err); denied {
		return Denied
	}
	if coded, ok := errors.AsType[Coder](err); ok {
		return coded.Code()
	}
	switch {
	case errors.Is(err, context.Canceled):
		return Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	}
	return Failed
}

// New returns an error to compare others with.
func New(code Code, text string) error { return &sentinel{code, text} }

type sentinel struct {
	code Code
	text string
}

func (e *sentinel) Error() string { return e.text }
func (e *sentinel) Code() Code    { return e.code }
