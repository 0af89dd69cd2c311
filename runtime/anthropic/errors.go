package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
)

var (
	// ErrRefused: the model, or the provider for it, declined to answer. The same
	// conversation is refused again.
	ErrRefused = errors.New("the model refuses to answer")
	// ErrCut: the answer is incomplete. Nothing of it may be acted on.
	ErrCut = errors.New("the model's answer is incomplete")
	// ErrFormat: the server's answer is not in the form of the Messages API.
	ErrFormat = errors.New("the model's server does not speak the Messages API")
	// ErrTimeout: the request took longer than the timeout of the model's settings.
	ErrTimeout = errors.New("the model took too long")

	errTooLong = fmt.Errorf("%w: its answer is longer than %d bytes", ErrFormat, maxAnswer)
)

// Error is what the server says is wrong. Its texts are the server's, with the
// key taken out.
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
	case e.Status == http.StatusRequestEntityTooLarge:
		b.WriteString("; give the agent less context, or start a new session")
	}
	if e.RequestID != "" {
		b.WriteString(" [request " + e.RequestID + "]")
	}
	return b.String()
}

// RetryAfter is how long the server asks to wait, if it does.
func (e *Error) RetryAfter() (time.Duration, bool) { return e.wait, e.waits }

// Temporary says whether the same request may succeed later.
func (e *Error) Temporary() bool {
	switch e.again {
	case "true":
		return true
	case "false":
		return false
	}
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	case 0:
		switch e.Type {
		case "overloaded_error", "rate_limit_error", "timeout_error", "api_error":
			return true
		}
	}
	return e.Status >= 500
}

// transient is a failure that says nothing about the request itself: the same
// one may succeed.
type transient struct {
	text string
	err  error
}

func (e *transient) Error() string   { return e.text }
func (e *transient) Unwrap() error   { return e.err }
func (e *transient) Temporary() bool { return true }

func timedOut(limit time.Duration) error {
	return &transient{fmt.Sprintf("%v: no complete answer after %s, its timeout", ErrTimeout, limit), ErrTimeout}
}

// cut is how a stream ended that did not come to its last event.
func cut(err error) error {
	if err == nil {
		return &transient{ErrCut.Error() + ": the stream ended early", ErrCut}
	}
	if _, said := errors.AsType[*sdk.Error](err); said || isForm(err) {
		return err
	}
	return &transient{ErrCut.Error() + ": " + err.Error(), ErrCut}
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

// failed is what err means: when ctx has ended, that is the reason for whatever
// went wrong. The SDK's errors end here: they carry the request, and the key in it.
func (m *Model) failed(ctx context.Context, err error) error {
	if errors.Is(err, errUnfinished) {
		return err
	}
	if errors.Is(err, ErrRefused) {
		return &hidden{m.clip(err.Error()), ErrRefused}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if api, ok := errors.AsType[*sdk.Error](err); ok {
		return m.said(api)
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	switch text := m.clip(err.Error()); {
	case errors.Is(err, ErrFormat):
		return &hidden{text, ErrFormat}
	case isForm(err):
		return &hidden{ErrFormat.Error() + ": " + text, ErrFormat}
	case errors.Is(err, ErrCut):
		return &transient{text, ErrCut}
	default:
		return &transient{"reach the model's server: " + text, err}
	}
}

// hidden is an error of which only the clean text and the sentinel are left.
type hidden struct {
	text string
	is   error
}

func (e *hidden) Error() string { return e.text }
func (e *hidden) Unwrap() error { return e.is }
