package anthropic

import (
	"cmp"
	"encoding/json"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"usher/runtime/endpoint"
)

// said is what the server says is wrong, instead of an answer or in its middle.
func (m *Model) said(api *sdk.Error) *Error {
	var body struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
		RequestID string `json:"request_id"`
	}
	raw := api.RawJSON()
	e := new(Error)
	if json.Unmarshal([]byte(raw), &body) == nil && body.Error.Type != "" {
		e.Type, e.Message = m.clip(body.Error.Type), m.clip(body.Error.Message)
	} else {
		e.Message = m.clip(strings.ReplaceAll(raw, `\/`, `/`)) // as some write keys in JSON
	}
	e.RequestID = m.clip(cmp.Or(api.RequestID, body.RequestID))
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
