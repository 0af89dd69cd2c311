package agui

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"usher/caps/value"
	"usher/runtime"
	"usher/tools/approvals"
	"usher/tools/fault"
	"usher/venue"
)

// interrupt is what a run waits for (AG-UI 1.0, "Interrupts").
type interrupt struct {
	id      string
	message string
	call    string             // of a tool, as clients know it; empty is none
	request *approvals.Request // nil where the caller may not look at it
}

// responseSchema is the form of what answers an interrupt.
var responseSchema = json.RawMessage(`{"type":"object","required":["approved"],"properties":{` +
	`"approved":{"type":"boolean","title":"Allow this call, once"},"reason":{"type":"string","title":"What to tell"},` +
	`"when":{"type":"object","title":"Limits on the call, by JSON pointer: {\"/amount\": {\"max\": 50}}"}}}`)

// MarshalJSON writes it.
func (i interrupt) MarshalJSON() ([]byte, error) {
	w := value.NewWriter()
	w.Text("id", i.id)
	w.Text("reason", "tool_call")
	w.Some("message", i.message)
	w.Some("toolCallId", i.call)
	req := i.request
	if req == nil {
		return w.Object(), nil
	}
	w.Raw("responseSchema", responseSchema)
	w.Text("expiresAt", time.UnixMilli(req.Expires).UTC().Format(time.RFC3339))
	w.Begin("metadata")
	w.Begin("cog13")
	w.Text("operation", req.Operation)
	w.Texts("needs", req.Needs)
	w.Some("grants", req.Grants)
	w.Some("agent", req.Agent)
	w.Raw("input", req.Input)
	w.Text("digest", req.Digest)
	w.End()
	w.End()
	return w.Object(), nil
}

// Bounds of a look for what a run waits for.
const (
	maxWaits = 64 // requests
	maxDeep  = 16 // runs in runs
)

// openRequest is a request for an approval that a run waits for.
type openRequest struct {
	approval string
	call     string // of the run itself
	text     string
}

// interrupts are those of a run that rests. What it rests for that is no request is one
// interrupt in its own name: it goes on by itself.
func interrupts(ctx context.Context, p *venue.Principal, run string, waits []runtime.Wait, why error) ([]interrupt, error) {
	pending, err := requestsOf(ctx, p, run, waits)
	if err != nil {
		return nil, err
	}
	var list []interrupt
	for _, w := range pending {
		i := interrupt{id: w.approval, message: w.text}
		if w.call != "" {
			i.call = run + "." + w.call
		}
		if i.request, err = requestOf(ctx, p, w.approval); err != nil {
			return nil, err
		}
		if i.request != nil {
			if i.request.Status != approvals.Pending {
				continue
			}
			i.message = i.request.Why
		}
		list = append(list, i)
	}
	if len(list) == 0 {
		list = []interrupt{{id: run, message: why.Error()}}
	}
	return list, nil
}

// requestOf is a request for an approval; nil where the caller may not look at it.
func requestOf(ctx context.Context, p *venue.Principal, id string) (*approvals.Request, error) {
	in := approvals.Ref{ID: id}
	if p.Still(ctx, "approval:show", in) != nil {
		return nil, nil //nolint:nilerr // somebody else answers it
	}
	raw, err := p.Invoke(ctx, "approval:show", in)
	if fault.Of(err) == fault.NotFound { // another's, or one that is gone
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	req := new(approvals.Request)
	return req, json.Unmarshal(raw, req)
}

// requestsOf lists the requests that a run waits for, itself or by what it began.
func requestsOf(ctx context.Context, p *venue.Principal, run string, waits []runtime.Wait) (list []openRequest, err error) {
	for _, w := range waits {
		switch {
		case w.Approval != "":
			list = append(list, openRequest{w.Approval, w.CallID, w.Text})
		case w.Run != "":
			below, err := below(ctx, p, w.Run, 1)
			if err != nil {
				return nil, err
			}
			for _, id := range below {
				list = append(list, openRequest{id, w.CallID, w.Text})
			}
		}
	}
	if len(waits) == 0 { // the caller does not hear of them
		ids, err := below(ctx, p, run, 0)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			list = append(list, openRequest{approval: id})
		}
	}
	return list[:min(len(list), maxWaits)], nil
}

// below lists the requests that a run waits for, as far as the caller may look at it and at
// what it began.
func below(ctx context.Context, p *venue.Principal, run string, deep int) (ids []string, err error) {
	if p.Still(ctx, "grid:jobStatus", map[string]string{"id": run}) != nil || deep > maxDeep {
		return nil, nil //nolint:nilerr // the caller hears nothing of it
	}
	rec, err := p.Run(ctx, run)
	if err != nil {
		return nil, err
	}
	for _, id := range rec.Waits {
		if strings.Contains(id, "/") { // an agent that is suspended, or another's run
			continue
		}
		inner, err := below(ctx, p, id, deep+1)
		switch {
		case fault.Of(err) == fault.NotFound:
			inner = []string{id}
		case err != nil:
			return nil, err
		}
		if ids = append(ids, inner...); len(ids) >= maxWaits {
			break
		}
	}
	return ids, nil
}

// resumption answers an interrupt.
type resumption struct {
	ID      string `json:"interruptId"`
	Status  string `json:"status"`
	Payload struct {
		Approved bool            `json:"approved"`
		Reason   string          `json:"reason"`
		When     json.RawMessage `json:"when"`
	} `json:"payload"`
}

// UnmarshalJSON reads an answer. A payload that is none of the schema is an error.
func (r *resumption) UnmarshalJSON(raw []byte) error {
	var in struct {
		ID      string          `json:"interruptId"`
		Status  string          `json:"status"`
		Payload json.RawMessage `json:"payload"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	*r = resumption{ID: in.ID, Status: in.Status}
	if len(in.Payload) == 0 {
		return nil
	}
	return json.Unmarshal(in.Payload, &r.Payload)
}

// answers sends what the client answers to what a run waits for: nothing, unless each of the
// interrupts has its answer and each answer an interrupt.
func answers(ctx context.Context, p *venue.Principal, open []interrupt, given []resumption) error {
	var left, unknown []string
	for _, i := range open {
		if !slices.ContainsFunc(given, func(r resumption) bool { return r.ID == i.id }) {
			left = append(left, i.id)
		}
	}
	for n, r := range given {
		if !slices.ContainsFunc(open, func(i interrupt) bool { return i.id == r.ID }) || slices.ContainsFunc(given[:n], func(o resumption) bool { return o.ID == r.ID }) {
			unknown = append(unknown, value.Cut(r.ID, maxName))
		}
		if r.Status != "resolved" && r.Status != "cancelled" {
			return invalid("resume[%d].status is %.40q: give resolved or cancelled", n, r.Status)
		}
	}
	if len(left) > 0 {
		return invalid("resume leaves open what the run waits for: %s", strings.Join(left, ", "))
	}
	if len(unknown) > 0 {
		return invalid("resume answers what the run does not wait for, or answers it twice: %s", strings.Join(unknown, ", "))
	}
	var failed []error
	for _, i := range open {
		n := slices.IndexFunc(given, func(r resumption) bool { return r.ID == i.id })
		failed = append(failed, i.answer(ctx, p, &given[n]))
	}
	return errors.Join(failed...)
}

// answer sends what a client answers.
func (i *interrupt) answer(ctx context.Context, p *venue.Principal, given *resumption) (err error) {
	yes := given.Status == "resolved" && given.Payload.Approved
	if yes {
		in := approvals.Yes{ID: i.id, Reason: given.Payload.Reason, When: given.Payload.When}
		if i.request != nil {
			in.Digest = i.request.Digest
		}
		_, err = p.Invoke(ctx, "approval:approve", in)
	} else {
		_, err = p.Invoke(ctx, "approval:deny", approvals.No{ID: i.id, Reason: given.Payload.Reason})
	}
	return err
}
