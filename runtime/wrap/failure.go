package wrap

import (
	"encoding/json"
	"errors"

	"usher/runtime"
	"usher/tools/fault"
	"usher/tools/spend"
)

// failure is an error as a cassette has it. It reads as it did, has the code that
// it had, and is a [runtime.ErrWindow] or a [spend.BudgetError] where it was.
type failure struct {
	Message string          `json:"message"`
	Is      fault.Code      `json:"code,omitempty"`
	Said    json.RawMessage `json:"details,omitempty"`
	Passing bool            `json:"temporary,omitempty"`
}

var (
	_ temporary      = (*failure)(nil)
	_ fault.Detailed = (*failure)(nil)
)

func failureOf(err error) *failure {
	out := &failure{Message: err.Error(), Is: fault.Of(err)}
	if errors.Is(err, runtime.ErrWindow) {
		out.Is = fault.Window
	}
	if detailed, ok := errors.AsType[fault.Detailed](err); ok {
		out.Said, _ = json.Marshal(detailed.Details()) // without them the code is still told
	}
	var passing temporary
	out.Passing = errors.As(err, &passing) && passing.Temporary()
	return out
}

func (e *failure) Error() string    { return e.Message }
func (e *failure) Code() fault.Code { return e.Is }
func (e *failure) Temporary() bool  { return e.Passing }

func (e *failure) Details() any {
	if e.Said == nil {
		return nil
	}
	return e.Said
}

// Unwrap returns what the error was beside its text, or nil.
func (e *failure) Unwrap() error {
	if e.Is == fault.Window {
		return runtime.ErrWindow
	}
	spent := new(spend.BudgetError)
	if e.Is == fault.BudgetSpent && json.Unmarshal(e.Said, spent) == nil {
		return spent
	}
	return nil
}
