package ap

import (
	"errors"
	"fmt"
	"strings"

	"usher/runtime"
	"usher/runtime/endpoint"
	"usher/runtime/wrap"
)

// ErrModel: the model that was plugged in cannot be reached, or refuses the work
// as such. The demo stops there: this says nothing about how it judges.
var ErrModel = errors.New("the demo stopped, as its model failed")

// failure is why the work ended before its time.
type failure struct {
	At    string `json:"at"`              // for example "invoice 1-kestrel"
	Agent string `json:"agent,omitempty"` // whose model failed; left out where none did
	Words string `json:"error"`

	model string
	err   error
}

var _ error = (*failure)(nil)

func (f *failure) Error() string {
	if f.Agent == "" {
		return f.At + ": " + f.Words
	}
	return fmt.Sprintf("%v: model %s, behind %s at %s: %s", ErrModel, f.model, f.Agent, f.At, f.Words)
}

func (f *failure) Unwrap() []error {
	if f.Agent == "" {
		return []error{f.err}
	}
	return []error{ErrModel, f.err}
}

// ofOneAnswer reports whether an error of a model is about this request and the
// answer to it, so that the next invoice may fare better. All others, such as a
// refused key, a server that is not there after the tries of the model's
// settings, a spent budget or an unknown request to a replay, are of the model.
func ofOneAnswer(err error) bool {
	if e, ok := errors.AsType[*endpoint.Error](err); ok {
		switch e.Reason {
		case "tool_use_failed", "json_validate_failed": // some servers read the model's answer themselves
			return true
		}
	}
	if reads(err, endpoint.ErrCut) {
		broken, ok := errors.AsType[interface {
			error
			wrap.Temporary
		}](err)
		return !ok || !broken.Temporary() // else the connection ended it, and not the model
	}
	return reads(err, runtime.ErrWindow) || reads(err, endpoint.ErrRefused) || reads(err, endpoint.ErrFiltered)
}

// reads reports whether err is target. Of an error in a recording only the words
// are left.
func reads(err, target error) bool {
	if errors.Is(err, target) {
		return true
	}
	e, ok := errors.AsType[*wrap.ReplayedError](err)
	return ok && strings.Contains(e.Error(), target.Error())
}
