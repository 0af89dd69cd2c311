package endpoint

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"

	"usher/runtime"
	"usher/tools/fault"
)

// Error is what the server says is wrong. Its texts are the server's, with the
// key taken out. A content filter's is an [ErrFiltered] as well, and that of a
// conversation that is too long a [runtime.ErrWindow].
type Error struct {
	Status    int    // of HTTP; 0 where the error came in the middle of an answer without one
	Reason    string // the provider's code, for example "rate_limit_exceeded"; may be empty
	Type      string // the provider's type, for example "invalid_request_error"; may be empty
	Param     string // what of the request is wrong; may be empty
	Message   string
	RequestID string // to ask the provider about it; may be empty

	wait   time.Duration
	waits  bool   // wait was given
	again  string // x-should-retry, where the provider says itself whether to
	filter bool
}

var _ fault.Coder = (*Error)(nil)

// Error says what the server said and, where it is known, what to do.
func (e *Error) Error() string {
	var b strings.Builder
	if e.filter {
		b.WriteString(ErrFiltered.Error() + ": ")
	}
	b.WriteString("the model's server answers")
	if e.Status != 0 {
		b.WriteString(strings.TrimRight(" "+strconv.Itoa(e.Status)+" "+http.StatusText(e.Status), " "))
	} else {
		b.WriteString(" with an error")
	}
	if word := cmp.Or(e.Reason, e.Type); word != "" {
		b.WriteString(" (" + word + ")")
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.Param != "" && !strings.Contains(e.Message, e.Param) {
		b.WriteString(" (" + e.Param + ")")
	}
	switch {
	case e.window():
		b.WriteString("; give the agent less context, or start a new session")
	case e.waits:
		b.WriteString("; try again in " + e.wait.String())
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		b.WriteString("; check key")
	case e.Status == http.StatusNotFound:
		b.WriteString("; check base_url and model")
	case e.Status == http.StatusRequestEntityTooLarge:
		b.WriteString("; give the agent less context, or start a new session")
	}
	if e.RequestID != "" {
		b.WriteString(" [request " + e.RequestID + "]")
	}
	return b.String()
}

// Is makes it what else it is.
func (e *Error) Is(target error) bool {
	return target == ErrFiltered && e.filter || target == runtime.ErrWindow && e.window()
}

// Code is the status, where it has one and nothing says it better.
func (e *Error) Code() fault.Code {
	switch {
	case e.window():
		return fault.Window
	case e.filter:
		return fault.Refused
	case e.Status == 0:
		return fault.Failed
	}
	return fault.Status(e.Status)
}

// RetryAfter is how long the server asks to wait, if it does.
func (e *Error) RetryAfter() (time.Duration, bool) { return e.wait, e.waits }

// Temporary says whether the same request may succeed later. An account
// without money is not a matter of time, though its status is 429, nor is a
// conversation that is too long, though some servers say 500 to it.
func (e *Error) Temporary() bool {
	switch {
	case e.filter, e.window(), e.Reason == "insufficient_quota", e.Type == "insufficient_quota", e.again == "false":
		return false
	case e.again == "true":
		return true
	case e.Status != 0:
		return isTemporary(e.Status)
	}
	for _, word := range []string{e.Reason, e.Type} {
		switch word {
		case "server_error", "internal_server_error", "api_error", "rate_limit_exceeded", "rate_limit_error",
			"overloaded", "overloaded_error", "service_unavailable", "timeout", "timeout_error":
			return true
		}
	}
	return false
}
