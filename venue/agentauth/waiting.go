package agentauth

import (
	"encoding/json"
	"slices"

	"usher/tools/approvals"
	"usher/tools/fault"
	"usher/venue/visitors"
)

// which is what a person who has signed in answers. Whose a request of their approvals is, these say.
func (c *call) which(agent, code, request string) (which visitors.Which, err error) {
	which = visitors.Which{Agent: agent, Code: code, Request: request}
	if request == "" {
		return which, nil
	}
	var req approvals.Request
	raw, err := c.person.Invoke(c.ctx(), "approval:show", approvals.Ref{ID: request})
	if err == nil {
		err = json.Unmarshal(raw, &req)
	}
	switch {
	case fault.Of(err) == fault.NotFound || fault.Of(err) == fault.InvalidInput || err == nil && !visitors.IsFiled(req.Operation):
		err = errNoRequest
	case err == nil && req.Status != approvals.Pending:
		err = errAnswered
	}
	which.Agent = req.Agent
	return which, err
}

var (
	errNoRequest = &visitors.Refusal{Code: visitors.RequestNotFound, Message: "no such request waits for you"}
	errAnswered  = &visitors.Refusal{Code: visitors.RequestResolved, Message: "the request was answered already, or has expired"}
)

// maxWaiting is how many requests are listed at once.
const maxWaiting = 50

// requests lists what agents from elsewhere ask the person for.
func (c *call) requests() ([]approvals.Request, error) {
	var page approvals.Listing
	raw, err := c.person.Invoke(c.ctx(), "approval:list", approvals.Query{Limit: approvals.MaxPage})
	if err == nil {
		err = json.Unmarshal(raw, &page)
	}
	list := slices.DeleteFunc(page.Requests, func(r approvals.Request) bool { return !visitors.IsFiled(r.Operation) })
	return list[:min(len(list), maxWaiting)], err
}

// listRequests lists what agents ask the person for.
func (c *call) listRequests() error {
	if _, err := c.inPerson(); err != nil {
		return err
	}
	list, err := c.requests()
	if err != nil {
		return err
	}
	out := []map[string]any{}
	for i := range list {
		r := &list[i]
		out = append(out, map[string]any{
			"approval_id": r.ID, "agent_id": r.Agent, "kind": r.Operation, "request": r.Input, "created_at": stamp(r.Created),
			"expires_in": max(0, (r.Expires-c.face.room.Now().UnixMilli())/1000),
		})
	}
	return c.ok(map[string]any{"requests": out})
}
