package tools

import (
	"encoding/json"
	"errors"
	"fmt"

	"usher/caps"
	"usher/caps/value"
	"usher/tools/fault"
)

var (
	// errNoRequirements: an operation without declared requirements cannot register.
	errNoRequirements = fault.New(fault.NoRequirements, "it declares no requirements: give the abilities and resources that a call needs")
	// errForeignAuthority: the authority was not made by this gate's mint.
	errForeignAuthority = fault.New(fault.ForeignAuthority, "authority is not of this venue: use one that its own mint made")
	// ErrTooDeep: calls that start calls reached the limit of call depth.
	ErrTooDeep = fault.New(fault.TooDeep, "call depth limit reached: operations start operations too deeply (limits.call_depth)")
	// errUnsettled: authority changed each time while the call was decided.
	errUnsettled = fault.New(fault.Busy, "authority keeps changing while the call is decided, so it did not run: try again")
	// ErrDirect: a sealed operation was asked for by another operation.
	ErrDirect = fault.New(fault.DirectOnly, "answers direct calls only, no step, job or context entry: a secret would flow through records")
	// errTooLarge: the input of a call is over the limit.
	errTooLarge = fault.New(fault.TooLarge, "input is too large")
)

// InputError says that the input of a call cannot be used. It is not a denial:
// a corrected call may succeed.
type InputError struct {
	Operation  string // catalogue path
	Err        error
	Incomplete bool // nothing is wrong but fields that are missing
}

func (e *InputError) Error() string { return "invalid input for " + e.Operation + ": " + e.Err.Error() }
func (e *InputError) Unwrap() error { return e.Err }

// NotFoundError says that a reference names no operation.
type NotFoundError struct {
	Reference string
	Nearest   string // the closest known name; empty when none is close
}

func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("operation not found: %q names none", value.Cut(e.Reference, 80))
	switch {
	case e.Nearest != "":
		text += "; did you mean " + e.Nearest + "?"
	case !operationForm().MatchString(e.Reference):
		text += "; an operation is a name such as covia:read, a path such as v/ops/covia/read, or one of yours such as o/greet"
	}
	return text
}

// operationForm is what may name an operation.
var operationForm = value.Form(`^([A-Za-z0-9_-]+:|(v/ops|o|mcp)/).`)

// PanicError is what a handler's panic becomes.
type PanicError struct {
	Operation string
	Value     any
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("%s failed inside (panic: %v): this is a fault of the tool, not of the call", e.Operation, e.Value)
}

// Code is [fault.InvalidInput].
func (e *InputError) Code() fault.Code { return fault.InvalidInput }

// Code is [fault.NotFound].
func (e *NotFoundError) Code() fault.Code { return fault.NotFound }

// Code is [fault.Panic].
func (e *PanicError) Code() fault.Code { return fault.Panic }

// Code is [fault.LimitReached].
func (e *LimitError) Code() fault.Code { return fault.LimitReached }

// Explain is what a model or a program is told of an error, as a JSON object: error (its
// code), message, retryable, and details where there are any. A denial is told in its own
// form, see [caps.Denial.MarshalJSON].
func Explain(err error) json.RawMessage {
	if denial, ok := errors.AsType[*caps.Denial](err); ok {
		if raw, err := json.Marshal(denial); err == nil {
			return raw
		}
	}
	code := fault.Of(err)
	out := struct {
		Error     fault.Code `json:"error"`
		Message   string     `json:"message"`
		Retryable bool       `json:"retryable"`
		Details   any        `json:"details,omitempty"`
	}{Error: code, Message: err.Error(), Retryable: code.Retryable()}
	if detailed, ok := errors.AsType[fault.Detailer](err); ok && detailed.Code() == code {
		out.Details = detailed.Details()
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return json.RawMessage(`{"error":"failed"}`)
	}
	return raw
}
