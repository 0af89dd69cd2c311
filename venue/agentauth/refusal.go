package agentauth

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"

	"usher/tools"
	"usher/tools/fault"
	"usher/venue/visitors"
)

// statusOf is the status of a refusal. A caller that is somebody and may not is 403.
func (c *call) statusOf(e *visitors.Refusal) int {
	if e.Code == visitors.Unauthorized {
		if c.by != nil {
			return http.StatusForbidden
		}
		return http.StatusUnauthorized
	}
	if e.Code == visitors.AgentClaimed && c.name == "claim" {
		return http.StatusConflict
	}
	return e.Code.Status
}

// refusal is what a caller is told of an error. What a handler says of itself is not told.
func refusal(err error) *visitors.Refusal {
	if of, ok := errors.AsType[*visitors.Refusal](err); ok {
		return of
	}
	switch code := fault.Of(err); code {
	case fault.Denied:
		return denial(err)
	case fault.Refused:
		return &visitors.Refusal{Code: visitors.CapDenied, Message: err.Error()}
	case fault.Unauthenticated:
		return &visitors.Refusal{Code: visitors.Unauthorized, Message: err.Error()}
	case fault.InvalidInput:
		return &visitors.Refusal{Code: visitors.InvalidRequest, Message: err.Error()}
	case fault.ApprovalRequired, fault.Waiting:
		return &visitors.Refusal{Code: visitors.ApprovalRequired, Message: "a person has to allow this call first, and nobody was asked"}
	case fault.RateLimited, fault.Busy, fault.TooManyRuns:
		return &visitors.Refusal{Code: visitors.RateLimited, Message: "too much at once: try again in a moment"}
	case fault.LimitReached, fault.BudgetSpent:
		return &visitors.Refusal{Code: visitors.LimitExceeded, Message: "a limit of this venue is reached"}
	case fault.Unavailable, fault.Stopped, fault.Interrupted:
		return &visitors.Refusal{Code: visitors.Unavailable, Message: "not available now: try again later"}
	}
	return &visitors.Refusal{Code: visitors.Internal, Message: "the venue could not do this; its operator finds why in the log"}
}

// denial is what a caller is told of a denial: its text, and what that says for programs.
func denial(err error) *visitors.Refusal {
	e := &visitors.Refusal{Code: visitors.CapDenied, Message: err.Error()}
	_ = json.Unmarshal(tools.Explain(err), &e.Extra) // an object
	delete(e.Extra, "error")
	delete(e.Extra, "message")
	return e
}

// fail answers with an error, and has the refusal of a caller that is known recorded.
func (c *call) fail(err error) {
	e := c.refuse(err)
	c.record("", e)
	body := map[string]any{"error": e.Code.Name, "message": e.Message}
	maps.Copy(body, e.Extra)
	status := c.statusOf(e)
	h := c.w.Header()
	if status == http.StatusUnauthorized {
		c.challenge(h)
	}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		h.Set("Retry-After", "1")
	}
	c.write(status, body)
}

// refuse returns [refusal], and what is none of the caller's doing is logged.
func (c *call) refuse(err error) *visitors.Refusal {
	e := refusal(err)
	if e.Code == visitors.Internal {
		c.face.log.ErrorContext(c.ctx(), "a call by Agent-Auth failed", "call", c.name, "error", err)
	}
	return e
}

// challenge says where agents begin.
func (c *call) challenge(h http.Header) {
	if c.issuer != "" {
		h.Set("WWW-Authenticate", `AgentAuth discovery="`+c.issuer+DiscoveryPath+`"`)
	}
}

// record has what became of a call in the ledger.
func (c *call) record(item string, failed *visitors.Refusal) {
	if c.name == "" || c.recorded && item == "" {
		return
	}
	c.recorded = true
	of := visitors.Call{Name: c.name, By: c.by, Capability: c.capability, Item: item}
	if c.person != nil {
		of.Person = c.person.DID()
	}
	if failed != nil {
		of.Failed = failed
	}
	if err := c.face.room.Record(c.ctx(), of); err != nil {
		c.face.log.ErrorContext(c.ctx(), "a call by Agent-Auth is not in the audit ledger", "error", err)
	}
}
