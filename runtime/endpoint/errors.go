package endpoint

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"usher/runtime"
	"usher/tools/fault"
)

var (
	// ErrRefused: the model, or the provider for it, declined to answer. The same
	// conversation is refused again.
	ErrRefused = fault.New(fault.Refused, "the model refuses to answer")
	// ErrFiltered: a content filter of the provider stopped the request or the answer.
	ErrFiltered = fault.New(fault.Refused, "the provider's content filter stopped it")
	// ErrCut: the answer is incomplete. Nothing of it may be acted on.
	ErrCut = fault.New(fault.Cut, "the model's answer is incomplete")
	// ErrFormat: what the server sent is no answer in the provider's format.
	ErrFormat = fault.New(fault.Format, "the model's server does not speak the format")
	// ErrTimeout: the request took longer than the timeout of the model's settings.
	ErrTimeout = fault.New(fault.Timeout, "the model took too long")

	// ErrMaxTokens: an [ErrCut] by the limit on tokens that the request set.
	ErrMaxTokens = fmt.Errorf("%w: stopped at a limit: max_tokens is used up: raise it", ErrCut)
	// ErrFull: an [ErrCut] as the conversation and its answer filled the model's window.
	ErrFull = fmt.Errorf("%w: stopped at a limit: %w: give the agent less context, or start a new session", ErrCut, runtime.ErrWindow)
)

// failure is an error of which only a clean text, and what it is, are left.
type failure struct {
	text    string
	is      error // may be nil
	passing bool  // it says nothing about the request itself: the same one may succeed
}

func (e *failure) Error() string   { return e.text }
func (e *failure) Unwrap() error   { return e.is }
func (e *failure) Temporary() bool { return e.passing }

// Transient is a failure that reads as text, is an err, and may not come again.
func Transient(text string, err error) error { return &failure{text, err, true} }

// Cut is an [ErrCut] by a connection that broke, or by a server that stopped.
func Cut(why error) error { return Transient(fmt.Sprintf("%v: %v", ErrCut, why), ErrCut) }

// cutError is an [ErrCut] by an error of reading, unless that says it better.
func cutError(err error) error {
	if errors.Is(err, ErrFormat) {
		return err
	}
	return Cut(err)
}

// timeoutError is the [ErrTimeout] of a request that may take limit.
func timeoutError(limit time.Duration) error {
	return Transient(fmt.Sprintf("%v: no complete answer after %s, its timeout", ErrTimeout, limit), ErrTimeout)
}

// safeError is an error of an answer with nothing in its text that may not be shown.
func (x *Exchange) safeError(err error) error {
	if _, clean := errors.AsType[*Error](err); clean || err == nil || errors.Is(err, errLeft) {
		return err
	}
	out := &failure{text: x.clean(err.Error())}
	if broken, ok := errors.AsType[*failure](err); ok {
		out.passing = broken.passing
	}
	for _, is := range []error{ErrRefused, ErrFiltered, ErrCut, ErrFormat} {
		if errors.Is(err, is) {
			out.is = is
		}
	}
	if errors.Is(err, runtime.ErrWindow) {
		out.is = errors.Join(out.is, runtime.ErrWindow)
	}
	return out
}

// unread is err, and an [ErrFormat] where it is an error of reading data.
func (x *Exchange) unread(err error, data []byte) error {
	if _, coded := errors.AsType[fault.Coder](err); err == nil || coded || errors.Is(err, errLeft) {
		return err
	}
	return x.Format("check base_url: it sent %s", data)
}

// Format is an [ErrFormat], and says why.
func (x *Exchange) Format(why string, args ...any) error {
	return &failure{"the model's server does not speak " + x.form.Speaks + ": " + fmt.Sprintf(why, args...), ErrFormat, false}
}

// isTemporary says of a status of HTTP whether the same request may succeed later.
func isTemporary(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return status >= 500
}

// retryAfter reads how long a server asks to wait: in milliseconds, in seconds,
// or until a date. What is beyond a day is a day: nobody waits that long, and to
// pass over it would mean to ask again at once.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	const longest = 24 * time.Hour
	in := func(n float64, unit time.Duration) time.Duration {
		return time.Duration(min(n, float64(longest/unit)) * float64(unit))
	}
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 {
		return in(ms, time.Millisecond), true
	}
	text := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil && s >= 0 {
		return in(s, time.Second), true
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(0, at.Sub(now)), longest), true
	}
	return 0, false
}
