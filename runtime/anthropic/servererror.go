package anthropic

import (
	"encoding/json"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"usher/runtime/endpoint"
)

// said is what the server says is wrong, instead of an answer or in its middle.
func (m *Model) said(api *sdk.Error) *Error {
	raw := api.RawJSON()
	if api.StatusCode >= 400 {
		raw = string(endpoint.ErrorBody([]byte(raw), true))
	}
	e := m.told(raw)
	if api.RequestID != "" {
		e.RequestID = m.clip(api.RequestID)
	}
	if api.StatusCode < 400 { // in the middle of an answer that began well
		return e
	}
	e.Status = api.StatusCode
	if api.Response != nil {
		h := api.Response.Header
		e.again = h.Get("X-Should-Retry")
		e.wait, e.waits = endpoint.RetryAfter(h, m.opts.Now())
	}
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
		return &Error{Message: m.clip(raw), RequestID: m.clip(body.RequestID)}
	}
	return &Error{Type: m.clip(body.Error.Type), Message: m.clip(body.Error.Message), RequestID: m.clip(body.RequestID)}
}
