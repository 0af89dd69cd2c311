package anthropic

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"usher/runtime"
	"usher/runtime/endpoint"
	"usher/tools/fault"
)

var (
	// ErrRefused: the model, or the provider for it, declined to answer. The same
	// conversation is refused again.
	ErrRefused = endpoint.ErrRefused
	// ErrCut: the answer is incomplete. Nothing of it may be acted on.
	ErrCut = endpoint.ErrCut
	// ErrFormat: the server's answer is not in the form of the Messages API.
	ErrFormat = fault.New(fault.Format, "the model's server does not speak the Messages API")
	// ErrTimeout: the request took longer than the timeout of the model's settings.
	ErrTimeout = endpoint.ErrTimeout
)

// Error is what the server says is wrong. Its texts are the server's, with the
// key taken out. That of a conversation that is too long is a [runtime.ErrWindow].
type Error struct {
	Status    int    // of HTTP; 0 where the error came in the middle of an answer
	Type      string // the provider's type, for example "overloaded_error"; may be empty
	Message   string
	RequestID string // to ask the provider about it; may be empty

	wait  time.Duration
	waits bool   // wait was given
	again string // x-should-retry, where the provider says itself whether to
}

// Error says what the server said and, where it is known, what to do.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("the model's server answers")
	if e.Status != 0 {
		b.WriteString(" " + strconv.Itoa(e.Status))
		if text := http.StatusText(e.Status); text != "" {
			b.WriteString(" " + text)
		}
	} else {
		b.WriteString(" with an error")
	}
	if e.Type != "" {
		b.WriteString(" (" + e.Type + ")")
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	switch {
	case e.waits:
		b.WriteString("; try again in " + e.wait.String())
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		b.WriteString("; check key")
	case e.Status == http.StatusNotFound:
		b.WriteString("; check base_url and model")
	case e.Status == http.StatusRequestEntityTooLarge, e.window():
		b.WriteString("; give the agent less context, or start a new session")
	}
	if e.RequestID != "" {
		b.WriteString(" [request " + e.RequestID + "]")
	}
	return b.String()
}

// Is makes it a [runtime.ErrWindow] where it is one.
func (e *Error) Is(target error) bool { return target == runtime.ErrWindow && e.window() }

// window says whether the conversation, or it and the answer that was asked
// for, do not fit the model's window. The API has no type for it.
func (e *Error) window() bool {
	if e.Status != 0 && e.Status != http.StatusBadRequest && e.Status != http.StatusRequestEntityTooLarge {
		return false
	}
	return strings.Contains(e.Message, "prompt is too long") || strings.Contains(e.Message, "exceed context limit")
}

// Code is the status, where it has one and nothing says it better.
func (e *Error) Code() fault.Code {
	switch {
	case e.window():
		return fault.Window
	case e.Status == 0:
		return fault.Failed
	}
	return fault.Status(e.Status)
}

// RetryAfter is how long the server asks to wait, if it does.
func (e *Error) RetryAfter() (time.Duration, bool) { return e.wait, e.waits }

// Temporary says whether the same request may succeed later.
func (e *Error) Temporary() bool {
	switch {
	case e.window():
		return false
	case e.again == "true":
		return true
	case e.again == "false":
		return false
	case e.Status != 0:
		return endpoint.Temporary(e.Status)
	}
	switch e.Type {
	case "overloaded_error", "rate_limit_error", "timeout_error", "api_error":
		return true
	}
	return false
}

func isForm(err error) bool {
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return true
	}
	return errors.Is(err, ErrFormat)
}

// meant is an error of an answer with nothing in its text that may not be shown.
func (m *Model) meant(err error) error {
	if err == nil || errors.Is(err, errUnfinished) || errors.Is(err, endpoint.ErrLeft) {
		return err
	}
	switch {
	case errors.Is(err, ErrRefused):
		return &hidden{m.server.Clean(err.Error()), ErrRefused}
	case errors.Is(err, ErrFormat):
		return &hidden{m.server.Clean(err.Error()), ErrFormat}
	case isForm(err):
		return &hidden{m.server.Clean(ErrFormat.Error() + ": " + err.Error()), ErrFormat}
	}
	return err
}

// hidden is an error of which only the clean text and the sentinel are left.
type hidden struct {
	text string
	is   error
}

func (e *hidden) Error() string { return e.text }
func (e *hidden) Unwrap() error { return e.is }
