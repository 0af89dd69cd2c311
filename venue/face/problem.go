package face

import (
	"bytes"
	"cmp"
	"net/http"
	"strconv"

	"usher/caps/value"
	"usher/tools"
	"usher/tools/fault"
)

// ProblemType is the media type of a [Problem].
const ProblemType = "application/problem+json"

// Problem is what a caller is told of an error: the members of RFC 9457, and those of
// [tools.Explain], which a model is told of the same error.
type Problem struct {
	Status int
	Code   fault.Code
	Detail string // the error in a sentence
	body   []byte
}

// statuses are those of codes that have one of their own; the others are 422: the
// request was right, and the operation failed by what it was asked to do.
var statuses = map[fault.Code]int{
	fault.Unauthenticated:  http.StatusUnauthorized,
	fault.Denied:           http.StatusForbidden,
	fault.Refused:          http.StatusForbidden,
	fault.ApprovalRequired: http.StatusForbidden,
	fault.InvalidInput:     http.StatusBadRequest,
	fault.NotFound:         http.StatusNotFound,
	fault.NoRoute:          http.StatusNotFound,
	fault.Unavailable:      http.StatusServiceUnavailable,
	fault.TooLarge:         http.StatusRequestEntityTooLarge,
	fault.Waiting:          http.StatusConflict,
	fault.Busy:             http.StatusConflict,
	fault.InTheWay:         http.StatusConflict,
	fault.TooManyRuns:      http.StatusTooManyRequests,
	fault.RateLimited:      http.StatusTooManyRequests,
	fault.LimitReached:     http.StatusTooManyRequests,
	fault.BudgetSpent:      http.StatusPaymentRequired,
	fault.Timeout:          http.StatusGatewayTimeout,
	fault.Canceled:         http.StatusServiceUnavailable,
	fault.Stopped:          http.StatusServiceUnavailable,
	fault.Interrupted:      http.StatusServiceUnavailable,
	fault.Panic:            http.StatusInternalServerError,
	fault.NoLedger:         http.StatusInternalServerError,
	fault.NoRequirements:   http.StatusInternalServerError,
	fault.ForeignAuthority: http.StatusInternalServerError,
}

// titles are those of codes; a code without one is titled by its status.
var titles = map[fault.Code]string{
	fault.Unauthenticated: "Nobody knows who calls",
	fault.Denied:          "Capability denied",
	fault.InvalidInput:    "Invalid input",
	fault.NotFound:        "Not found",
	fault.NoRoute:         "There is no such route",
	fault.Unavailable:     "Not available now",
	fault.Waiting:         "It waits",
	fault.Unknown:         "It is unknown whether it took effect",
}

// Of is the problem that an error is.
func Of(err error) Problem {
	return As(cmp.Or(statuses[fault.Of(err)], http.StatusUnprocessableEntity), err)
}

// As is the problem that an error is, under a status that HTTP has for it.
func As(status int, err error) Problem {
	p := Problem{Code: fault.Of(err), Status: status, Detail: err.Error()}
	title := titles[p.Code]
	if title == "" || status != cmp.Or(statuses[p.Code], http.StatusUnprocessableEntity) && status != http.StatusUnauthorized {
		title = http.StatusText(p.Status)
	}
	said := tools.Explain(err)
	b := append([]byte(`{"type":"urn:usher:`), p.Code...)
	b = value.AppendString(append(b, `","title":`...), title)
	b = append(b, `,"status":`...)
	b = strconv.AppendInt(b, int64(p.Status), 10)
	b = value.AppendString(append(b, `,"detail":`...), p.Detail)
	p.body = append(append(b, ','), bytes.TrimPrefix(said, []byte("{"))...)
	return p
}

// MarshalJSON writes the problem.
func (p Problem) MarshalJSON() ([]byte, error) { return p.body, nil }

// WriteTo answers with the problem. Where nobody knows who calls, challenges say how to
// prove it: values of WWW-Authenticate.
func (p Problem) WriteTo(w http.ResponseWriter, challenges ...string) {
	h := w.Header()
	h.Set("Content-Type", ProblemType)
	h.Set("Cache-Control", "no-store")
	if p.Status == http.StatusUnauthorized {
		for _, c := range challenges {
			h.Add("WWW-Authenticate", c)
		}
	}
	if p.Code == fault.Busy || p.Code == fault.Unavailable || p.Status == http.StatusTooManyRequests {
		h.Set("Retry-After", "1")
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(p.body) // a caller who is gone is told nothing
}

// Challenge is how a caller proves who they are by RFC 6750. A request without a token
// gets no error code (section 3.1).
func Challenge(r *http.Request) string {
	if r.Header.Get("Authorization") == "" {
		return `Bearer realm="usher"`
	}
	return `Bearer realm="usher", error="invalid_token"`
}
