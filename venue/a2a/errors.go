package a2a

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"usher/caps"
	"usher/tools"
	"usher/tools/fault"
	"usher/tools/lending"
	"usher/venue/face"
)

// failure is an error of the protocol (sections 3.3.2, 5.4), and one of the table of
// [usher/venue/a2a] beside it.
type failure struct {
	Code   int    // of JSON-RPC
	HTTP   int    // of HTTP+JSON
	Status string // of google.rpc
	Reason string
	Own    bool // it is Usher's: see [ownDomain]
	text   string
	more   map[string]any // told beside it
}

func (e *failure) Error() string { return e.text }

// because is the error with its reason.
func (e *failure) because(text string) *failure {
	more := *e
	more.text = text
	return &more
}

// Is reports whether an error is the same, whatever its text.
func (e *failure) Is(other error) bool {
	of, ok := errors.AsType[*failure](other)
	return ok && of.Code == e.Code && of.Reason == e.Reason
}

// Domains of the reasons.
const (
	domain    = "a2a-protocol.org"
	ownDomain = "usher"
)

const (
	invalid      = "INVALID_ARGUMENT"
	precondition = "FAILED_PRECONDITION"
)

var (
	errParse        = &failure{Code: -32700, HTTP: 400, Status: invalid, Reason: "PARSE_ERROR", text: "the body is no JSON"}
	errRequest      = &failure{Code: -32600, HTTP: 400, Status: invalid, Reason: "INVALID_REQUEST", text: "this is no request of JSON-RPC 2.0"}
	errMethod       = &failure{Code: -32601, HTTP: 404, Status: "NOT_FOUND", Reason: "METHOD_NOT_FOUND", text: "there is no such method"}
	errParams       = &failure{Code: -32602, HTTP: 400, Status: invalid, Reason: "INVALID_PARAMS", text: "the parameters are wrong"}
	errInternal     = &failure{Code: -32603, HTTP: 500, Status: "INTERNAL", Reason: "INTERNAL_ERROR", text: "the venue failed"}
	errNoTask       = &failure{Code: -32001, HTTP: 404, Status: "NOT_FOUND", Reason: "TASK_NOT_FOUND", text: "there is no such task"}
	errNotCancel    = &failure{Code: -32002, HTTP: 400, Status: precondition, Reason: "TASK_NOT_CANCELABLE", text: "the task has ended"}
	errNoPush       = &failure{Code: -32003, HTTP: 400, Status: precondition, Reason: "PUSH_NOTIFICATION_NOT_SUPPORTED", text: "there are no push notifications here"}
	errUnsupported  = &failure{Code: -32004, HTTP: 400, Status: precondition, Reason: "UNSUPPORTED_OPERATION", text: "the task has ended: begin another"}
	errType         = &failure{Code: -32005, HTTP: 400, Status: invalid, Reason: "CONTENT_TYPE_NOT_SUPPORTED", text: "the content is of a type that is not taken"}
	errAgentAnswer  = &failure{Code: -32006, HTTP: 500, Status: "INTERNAL", Reason: "INVALID_AGENT_RESPONSE", text: "the answer of the agent was not kept whole"}
	errNoExtension  = &failure{Code: -32008, HTTP: 400, Status: precondition, Reason: "EXTENSION_SUPPORT_REQUIRED", text: "this needs the extension " + URI + ": name it in A2A-Extensions"}
	errVersion      = &failure{Code: -32009, HTTP: 400, Status: precondition, Reason: "VERSION_NOT_SUPPORTED", text: "this version is not spoken here: A2A-Version is 1.0 or 0.3"}
	errNoAgent      = &failure{Code: -32602, HTTP: 404, Status: "NOT_FOUND", Reason: "AGENT_NOT_FOUND", Own: true, text: "there is no such agent"}
	errDenied       = &failure{Code: -32049, HTTP: 403, Status: "PERMISSION_DENIED", Reason: "CAPABILITY_DENIED", Own: true}
	errUnauthorized = &failure{Code: -32048, HTTP: 401, Status: "UNAUTHENTICATED", Reason: "UNAUTHENTICATED", Own: true}
	errApproval     = &failure{Code: -32059, HTTP: 403, Status: "PERMISSION_DENIED", Reason: "APPROVAL_REQUIRED", Own: true}
	errServer       = &failure{Code: -32000, Own: true} // with the code of the error
)

// lentFailures are those of capabilities, by their reasons (reference: the table of the
// package doc).
var lentFailures = func() map[lending.Reason]*failure {
	m := map[lending.Reason]*failure{lending.Params: errParams}
	for reason, code := range map[lending.Reason]int{
		lending.NoGrant: -32050, lending.Required: -32051, lending.Unknown: -32052, lending.Expired: -32053, lending.Gone: -32054,
		lending.Operation: -32055, lending.Resource: -32056, lending.Widens: -32057, lending.Whole: -32058,
	} {
		m[reason] = &failure{Code: code, HTTP: http.StatusForbidden, Status: "PERMISSION_DENIED", Reason: string(reason), Own: true}
	}
	for _, reason := range []lending.Reason{lending.Widens, lending.Whole} {
		m[reason].HTTP, m[reason].Status = http.StatusBadRequest, invalid
	}
	return m
}()

// statuses are those of google.rpc for statuses of HTTP.
var statuses = map[int]string{
	http.StatusBadRequest: invalid, http.StatusNotFound: "NOT_FOUND", http.StatusForbidden: "PERMISSION_DENIED",
	http.StatusConflict: "ABORTED", http.StatusTooManyRequests: "RESOURCE_EXHAUSTED", http.StatusPaymentRequired: "RESOURCE_EXHAUSTED",
	http.StatusServiceUnavailable: "UNAVAILABLE", http.StatusGatewayTimeout: "DEADLINE_EXCEEDED", http.StatusRequestEntityTooLarge: "OUT_OF_RANGE",
}

// failureOf is an error as the protocol has it. What no code is for says what a model would
// be told of it.
func failureOf(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	if lent, ok := errors.AsType[*lending.Error](err); ok {
		return lentFailures[lent.Reason].because(lent.Text)
	}
	p := face.Of(err)
	var f *failure
	switch {
	case p.Code == fault.Unauthenticated:
		f = errUnauthorized.because(p.Detail)
	case p.Code == fault.Denied:
		f = errDenied.because(p.Detail)
	case p.Code == fault.ApprovalRequired, p.Code == fault.Waiting:
		f = errApproval.because(p.Detail)
	case p.Code == fault.InvalidInput, p.Code == fault.NotFound:
		f = errParams.because(p.Detail)
	case p.Status >= http.StatusInternalServerError && p.Code != fault.Unavailable && p.Code != fault.Timeout:
		f = errInternal.because(p.Detail)
	default:
		f = errServer.because(p.Detail)
		f.HTTP, f.Reason = p.Status, strings.ToUpper(string(p.Code))
		if f.Status = statuses[p.Status]; f.Status == "" {
			f.Status = precondition
		}
	}
	_ = json.Unmarshal(tools.Explain(err), &f.more) // an object
	return f
}

// noTask is the error where a task was looked for.
func noTask(err error) error {
	_, denied := errors.AsType[*caps.Denial](err)
	if code := fault.Of(err); !denied && (code == fault.NotFound || code == fault.InvalidInput) {
		return errNoTask
	}
	return err
}

// details are what goes with an error: who reads one learns the rest from it.
func (e *failure) details() []map[string]any {
	of := domain
	if e.Own {
		of = ownDomain
	}
	list := []map[string]any{{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": e.Reason, "domain": of}}
	if e.more != nil {
		list = append(list, map[string]any{"@type": "type.googleapis.com/google.protobuf.Struct", "value": e.more})
	}
	return list
}

// status is the error as HTTP+JSON has it (section 11.6).
func (e *failure) status() map[string]any {
	return map[string]any{"error": map[string]any{"code": e.HTTP, "status": e.Status, "message": e.text, "details": e.details()}}
}

// rpc is the error as JSON-RPC has it (section 9.5).
func (e *failure) rpc() *rpcError { return &rpcError{e.Code, e.text, e.details()} }
