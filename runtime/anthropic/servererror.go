package anthropic

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
)

const maxMessage = 1000 // bytes of a server's message that are shown

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
		e.wait, e.waits = retryAfter(h, m.opts.Now())
	}
	return e
}

// clip takes the secrets out of a server's text, and then what is too long:
// the other way round, half a key could stay.
func (m *Model) clip(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(m.redact(text), "\uFFFD")), " ")
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage], "") + " …"
}

// retryAfter reads how long the server asks to wait: in milliseconds, in
// seconds, or until a date.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	const longest = 24 * time.Hour // beyond, it is no time but a mistake
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 && ms <= longest.Seconds()*1000 {
		return time.Duration(ms * float64(time.Millisecond)), true
	}
	text := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil && s >= 0 && s <= longest.Seconds() {
		return time.Duration(s * float64(time.Second)), true
	}
	if at, err := http.ParseTime(text); err == nil && at.Sub(now) <= longest {
		return max(0, at.Sub(now)), true
	}
	return 0, false
}
