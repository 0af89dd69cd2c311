package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	vendor "github.com/sashabaranov/go-openai"

	"usher/runtime/endpoint"
)

// statusError makes an error of an answer whose status is one.
func (m *Model) statusError(resp *http.Response, body []byte) error {
	e := m.serverError(body)
	e.Status = resp.StatusCode
	e.RequestID = m.server.Clean(cmp.Or(resp.Header.Get("X-Request-Id"), resp.Header.Get("Apim-Request-Id")))
	e.wait, e.waits = endpoint.RetryAfter(resp.Header, m.opts.Now())
	if to, err := resp.Location(); err == nil && resp.StatusCode < 400 {
		e.Message = m.server.Clean("it redirects to " + to.Scheme + "://" + to.Host + to.Path + ", and redirects are not followed: set base_url to where the API is")
	}
	return e
}

// serverError reads an error in any of the forms in use: {"error":{…}},
// {"error":"…"}, {"message":"…"}, {"detail":…}, a list of these, or plain text.
func (m *Model) serverError(body []byte) *Error {
	body = bytes.TrimSpace(body)
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer struct {
		Error  json.RawMessage `json:"error"`
		Detail json.RawMessage `json:"detail"`
	}
	_ = json.Unmarshal(body, &outer) // what is not JSON is shown as it is
	inner := body
	for _, part := range []json.RawMessage{outer.Error, outer.Detail} {
		if present(part) {
			inner = part
			break
		}
	}
	e := new(Error)
	var said vendor.APIError
	var text string
	switch {
	case json.Unmarshal(inner, &text) == nil:
		e.Message = text
	case json.Unmarshal(inner, &said) == nil:
		e.Message, e.Type = said.Message, said.Type
		if said.Code != nil && said.Code != 0 { // the library reads null as 0
			e.Reason = fmt.Sprint(said.Code)
		}
		if said.Param != nil {
			e.Param = *said.Param
		}
		e.more(inner)
	default:
		e.Message = string(inner)
	}
	e.Reason, e.Type, e.Param, e.Message = m.server.Clean(e.Reason), m.server.Clean(e.Type), m.server.Clean(e.Param), m.server.Clean(e.Message)
	if status, err := strconv.Atoi(e.Reason); err == nil && status >= 400 && status <= 599 {
		e.Status, e.Reason = status, ""
	}
	return e
}

// more reads what the vendor's type has no place for.
func (e *Error) more(raw []byte) {
	var in struct {
		InnerError struct { // Azure
			Code    string          `json:"code"`
			Results json.RawMessage `json:"content_filter_result"`
		} `json:"innererror"`
		Metadata struct { // OpenRouter: what the server behind it said
			Raw json.RawMessage `json:"raw"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(raw, &in) // the rest of the error stands without it
	if e.Reason == "content_filter" || in.InnerError.Code == "ResponsibleAIPolicyViolation" {
		e.filter = true
		if found := filtered(in.InnerError.Results); found != "" {
			e.Message = "for " + found + ": " + e.Message
		}
	}
	if present(in.Metadata.Raw) {
		e.Message += ": " + string(in.Metadata.Raw)
	}
}

// filtered lists the categories for which a content filter stopped something.
func filtered(results json.RawMessage) string {
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

// present says whether an error is one: some servers send an empty one along.
func present(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", `""`, "false":
		return false
	}
	return true
}
