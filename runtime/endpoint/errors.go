package endpoint

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"usher/tools/fault"
)

var (
	// ErrRefused: the model, or the provider for it, declined to answer.
	ErrRefused = fault.New(fault.Refused, "the model refuses to answer")
	// ErrCut: the answer is incomplete. Nothing of it may be acted on.
	ErrCut = fault.New(fault.Cut, "the model's answer is incomplete")
	// ErrTimeout: the request took longer than the timeout of the model's settings.
	ErrTimeout = fault.New(fault.Timeout, "the model took too long")
)

// transient is a failure that says nothing about the request itself: the same
// one may succeed.
type transient struct {
	text string
	err  error
}

// Passing is a failure that reads as text, is an err, and may not come again.
func Passing(text string, err error) error { return &transient{text, err} }

// Error is the text.
func (e *transient) Error() string { return e.text }

// Unwrap returns what failed.
func (e *transient) Unwrap() error { return e.err }

// Temporary is true.
func (e *transient) Temporary() bool { return true }

// Cut is an [ErrCut] by a connection that broke, or by a server that stopped.
func Cut(why error) error {
	err := fmt.Errorf("%w: %w", ErrCut, why)
	return &transient{err.Error(), err}
}

// TimedOut is the [ErrTimeout] of a request that may take limit.
func TimedOut(limit time.Duration) error {
	err := fmt.Errorf("%w: no complete answer after %s, its timeout", ErrTimeout, limit)
	return &transient{err.Error(), err}
}

// Unreached is a failure to reach the server. Clean is [Server].Clean.
func Unreached(err error, clean func(string) string) error {
	return &transient{"reach the model's server: " + clean(err.Error()), err}
}

// Temporary says of a status of HTTP whether the same request may succeed later.
func Temporary(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return status >= 500
}

// RetryAfter reads how long a server asks to wait: in milliseconds, in seconds,
// or until a date. What is beyond a day is a day: nobody waits that long, and to
// pass over it would mean to ask again at once.
func RetryAfter(h http.Header, now time.Time) (time.Duration, bool) {
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
