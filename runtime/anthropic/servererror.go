package anthropic

import (
	"encoding/json"
	"fmt"
	"net/http"

	"usher/runtime/endpoint"
)

// refused is what the server says is wrong, instead of an answer.
func (m *Model) refused(res *http.Response, body []byte) error {
	if res.StatusCode < 400 {
		return fmt.Errorf("%w: it redirects (%s): set base_url to the final address", ErrFormat, res.Status)
	}
	e := m.told(string(body))
	if id := res.Header.Get("Request-Id"); id != "" {
		e.RequestID = m.server.Clean(id)
	}
	e.Status = res.StatusCode
	e.again = res.Header.Get("X-Should-Retry")
	e.wait, e.waits = endpoint.RetryAfter(res.Header, m.opts.Now())
	return e
}

// told is an error that the server wrote.
func (m *Model) told(raw string) *Error {
	var body struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
		RequestID string `json:"request_id"`
	}
	if json.Unmarshal([]byte(raw), &body) != nil || body.Error.Type == "" {
		return &Error{Message: m.server.Clean(raw), RequestID: m.server.Clean(body.RequestID)}
	}
	return &Error{Type: m.server.Clean(body.Error.Type), Message: m.server.Clean(body.Error.Message), RequestID: m.server.Clean(body.RequestID)}
}
