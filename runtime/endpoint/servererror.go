package endpoint

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// statusError makes an error of an answer whose status is one.
func (x *Exchange) statusError(res *http.Response, body []byte) error {
	e, h := x.ReadError(body), res.Header
	e.Status, e.again = res.StatusCode, h.Get("X-Should-Retry")
	e.RequestID = cmp.Or(x.clean(cmp.Or(h.Get("Request-Id"), h.Get("X-Request-Id"), h.Get("Apim-Request-Id"))), e.RequestID)
	e.wait, e.waits = retryAfter(h, x.now())
	if to, err := res.Location(); err == nil && res.StatusCode < 400 {
		e.Message = x.clean("it redirects to " + to.Scheme + "://" + to.Host + to.Path + ", and redirects are not followed: set base_url to where the API is")
	}
	return e
}

// maxErrorBody bounds what is read of an answer that is an error: bytes.
const maxErrorBody = 64 << 10

// errorBody is what was read of an error, up to maxErrorBody bytes. Where that
// may not be all, its last word goes: half a key would not be found in it.
func errorBody(read []byte, all bool) []byte {
	if all && len(read) < maxErrorBody {
		return read
	}
	return bytes.TrimRightFunc(read, func(r rune) bool { return !unicode.IsSpace(r) })
}

// serverError is an error as servers write it.
type serverError struct {
	Message   loose           `json:"message"`
	Type      loose           `json:"type"`
	Code      loose           `json:"code"`
	Param     loose           `json:"param"`
	RequestID loose           `json:"request_id"` // beside the error
	Error     json.RawMessage `json:"error"`
	Detail    json.RawMessage `json:"detail"`

	InnerError struct { // Azure
		Code    string          `json:"code"`
		Results json.RawMessage `json:"content_filter_result"`
	} `json:"innererror"`
	Metadata struct { // OpenRouter: what the server behind it said
		Raw json.RawMessage `json:"raw"`
	} `json:"metadata"`
}

// loose is a text, or what some servers write for one. Of a list of texts it is
// all of them.
type loose string

// UnmarshalJSON reads anything.
func (l *loose) UnmarshalJSON(raw []byte) error {
	var text string
	var list []string
	switch {
	case json.Unmarshal(raw, &text) == nil:
		*l = loose(text)
	case json.Unmarshal(raw, &list) == nil:
		*l = loose(strings.Join(list, ", "))
	case string(raw) != "0":
		*l = loose(raw)
	}
	return nil
}

// ReadError reads an error in any of the forms in use: {"error":{…}}, {"error":"…"},
// {"message":"…"}, {"detail":…}, a list of these, or plain text.
func (x *Exchange) ReadError(body []byte) *Error {
	body = bytes.TrimSpace(body)
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer, in serverError
	_ = json.Unmarshal(body, &outer) // what is not JSON is shown as it is
	inner := body
	for _, part := range []json.RawMessage{outer.Error, outer.Detail} {
		if IsSaid(part) {
			inner = part
			break
		}
	}
	e := &Error{RequestID: x.clean(string(outer.RequestID))}
	var text string
	switch {
	case json.Unmarshal(inner, &text) == nil:
		e.Message = text
	case json.Unmarshal(inner, &in) == nil && in.Message != "":
		e.Message, e.Type, e.Reason, e.Param = string(in.Message), string(in.Type), string(in.Code), string(in.Param)
		e.more(&in)
	default:
		e.Message = string(inner)
	}
	for _, text := range []*string{&e.Reason, &e.Type, &e.Param, &e.Message} {
		*text = x.clean(*text)
	}
	if status, err := strconv.Atoi(e.Reason); err == nil && status >= 400 && status <= 599 {
		e.Status, e.Reason = status, ""
	}
	return e
}

// more is what some vendors say beside.
func (e *Error) more(in *serverError) {
	if e.Reason == "content_filter" || in.InnerError.Code == "ResponsibleAIPolicyViolation" {
		e.filter = true
		if found := FilterCategories(in.InnerError.Results); found != "" {
			e.Message = "for " + found + ": " + e.Message
		}
	}
	if IsSaid(in.Metadata.Raw) {
		e.Message += ": " + string(in.Metadata.Raw)
	}
}

// FilterCategories lists the categories for which a content filter stopped something.
func FilterCategories(results json.RawMessage) string {
	var categories map[string]json.RawMessage
	_ = json.Unmarshal(results, &categories) // without them the error is only less precise
	var found []string
	for name, raw := range categories {
		var result struct {
			Filtered bool `json:"filtered"`
		}
		if json.Unmarshal(raw, &result) == nil && result.Filtered {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return strings.Join(found, ", ")
}

// IsSaid reports whether an error is one: some servers send an empty one along.
func IsSaid(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", `""`, "false":
		return false
	}
	return true
}
