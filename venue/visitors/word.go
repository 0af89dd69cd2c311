package visitors

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"usher/caps/value"
	"usher/tools/fault"
	"usher/venue/approvals"
)

// maxFiled is how many capabilities a request shows the needs of.
const maxFiled = maxAsked

// filing is what stands in a person's approvals for what an agent asks them.
func (r *Room) filing(a *Agent, h *Host, ask *ask) *approvals.Filing {
	s := r.set.Load()
	wanted := map[string]Constraints{}
	f := &approvals.Filing{Agent: a.ID, Host: h.ID, Operation: operationMark + ask.Kind, Why: "An agent from elsewhere asks for it.", Needs: []string{}}
	f.Expires = time.UnixMilli(ask.Expires)
	for i := range a.Grants {
		g := &a.Grants[i]
		c := s.grant[g.Capability]
		if g.Status != Pending || c == nil || len(wanted) >= maxFiled {
			continue
		}
		wanted[g.Capability] = g.Constraints
		if both, err := g.Constraints.and(c.imposed); err == nil {
			wanted[g.Capability] = both
		}
		for _, one := range c.needs {
			f.Needs = append(f.Needs, one.String())
		}
	}
	slices.Sort(f.Needs)
	f.Needs = slices.Compact(f.Needs)
	f.Input = encode(requestInput{
		Agent: ref{a.ID, a.Name}, Host: ref{h.ID, h.Name}, Mode: a.Mode, Method: ask.Method, Reason: ask.Reason, Message: ask.Says, Capabilities: wanted,
	})
	return f
}

// operationMark begins what is asked for, where operations have their names.
const operationMark = "agent-auth/"

// IsFiled reports whether a request of somebody's approvals, by its operation, is of an agent
// from elsewhere.
func IsFiled(operation string) bool { return strings.HasPrefix(operation, operationMark) }

// requestInput is the input of a request.
type requestInput struct {
	Agent        ref                    `json:"agent"`
	Host         ref                    `json:"host"`
	Mode         string                 `json:"mode"`
	Method       string                 `json:"method"`
	Reason       string                 `json:"reason,omitempty"`
	Message      string                 `json:"message,omitempty"`
	Capabilities map[string]Constraints `json:"capabilities"`
}

type ref struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
}

func (n *ref) String() string {
	if n.Name == "" {
		return n.ID
	}
	return n.Name + " (" + n.ID + ")"
}

// ReadRequest reads a request of somebody's approvals: which agent from elsewhere asks, by the names
// that it and its host give themselves, and for what. It is false of all other requests.
func ReadRequest(operation string, input json.RawMessage) (who, what string, ok bool) {
	var f requestInput
	if !IsFiled(operation) || json.Unmarshal(input, &f) != nil {
		return "", "", false
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(f.Capabilities)) {
		list = append(list, within(name, f.Capabilities[name]))
	}
	return f.Agent.String() + " of " + f.Host.String(), strings.Join(list, "; "), true
}

func within(capability string, limits Constraints) string {
	if limits.IsZero() {
		return capability
	}
	return capability + " when " + limits.String()
}

// String returns e.g. "transfer when /amount is at most 100".
func (g *Grant) String() string { return within(g.Capability, g.Constraints) }

// swap ends what an agent waits for, also in the approvals of who is asked, and has the next
// stand there where it is filed.
func (r *Room) swap(ctx context.Context, c *change, a *Agent, s approvals.Swap, next *ask) error {
	was := a.Ask
	if was != nil && was.Request != "" {
		s.Owner, s.Close = was.Asked, was.Request
	}
	out := new(approvals.SwapBatch)
	if s.Close != "" || s.File != nil {
		var err error
		if out, err = r.Approvals.Swap(ctx, s); err != nil {
			return err
		}
	}
	switch {
	case was == nil || was.Code == "":
	case s.By.IsZero():
		c.Del = append(c.Del, codeKey(was.Code))
	default: // who has answered is told so once more, and has guessed nothing
		c.Put[codeKey(was.Code)] = []byte(usedMark + s.By.String())
		c.Put[dueKey(r.Now().Add(askLife), codeMark+was.Code)] = nil
	}
	a.Ask = nil
	maps.Copy(c.Expect, out.Expect)
	maps.Copy(c.Put, out.Put)
	c.Del = append(c.Del, out.Del...)
	c.told = append(c.told, out.Told...)
	if next != nil {
		next.Request = out.Filed
	}
	return nil
}

// Word takes what a person says of a request that stands in their approvals. Whoever brings it
// does not say when the person has signed in.
func (r *Room) Word(ctx context.Context, w approvals.Word) error {
	err := r.word(ctx, &w)
	of, refused := errors.AsType[*Refusal](err)
	switch {
	case !refused:
		return err
	case of.Code == InvalidRequest || of.Code == RequestResolved || of.Code == unknownOperator:
		return fault.New(fault.InvalidInput, of.Message)
	case of.Code == freshSession:
		return fault.New(fault.Refused, of.Message+" on the page of the venue, /agent/device")
	}
	return fault.New(fault.Refused, of.Message)
}

func (r *Room) word(ctx context.Context, w *approvals.Word) error {
	who, which := Person{DID: w.By}, Which{Agent: w.Request.Agent, Request: w.Request.ID}
	said := Answer{Approve: w.Yes, Until: w.Until, Reason: w.Reason}
	if w.Yes {
		q, err := r.Find(ctx, who, which)
		if err != nil {
			return err
		}
		if said.Capabilities, err = q.less(w); err != nil {
			return err
		}
	}
	_, _, err := r.Answer(ctx, who, which, said)
	return err
}

// less is what a person approves who says so by names and pointers; nil is all.
func (q *Question) less(w *approvals.Word) (map[string]Constraints, error) {
	if w.Only == nil && len(w.When) == 0 {
		return nil, nil
	}
	asked := map[string]bool{}
	for i := range q.Pending {
		asked[q.Pending[i].Capability] = true
	}
	out := map[string]Constraints{}
	for _, name := range w.Only {
		if !asked[name] {
			return nil, refuse(InvalidRequest, "only: the agent does not ask for %s", value.Quote(name))
		}
		out[name] = Constraints{}
	}
	if w.Only == nil {
		for name := range asked {
			out[name] = Constraints{}
		}
	}
	var when map[string]json.RawMessage
	if len(w.When) > 0 {
		if err := json.Unmarshal(w.When, &when); err != nil {
			return nil, refuse(InvalidRequest, "when is no object of limits")
		}
	}
	limits := map[string]map[string]json.RawMessage{}
	for pointer, limit := range when {
		parts := strings.Split(pointer, "/")
		if len(parts) != 3 || parts[0] != "" {
			return nil, refuse(InvalidRequest, "when: %s is no argument of a capability: write it as /transfer/amount", value.Quote(pointer))
		}
		if _, has := out[parts[1]]; !has {
			return nil, refuse(InvalidRequest, "when: %s is not approved, so it has no limits", value.Quote(parts[1]))
		}
		if limits[parts[1]] == nil {
			limits[parts[1]] = map[string]json.RawMessage{}
		}
		limits[parts[1]][parts[2]] = limit
	}
	for name, of := range limits {
		parsed, err := ParseConstraints(encode(of))
		if err != nil {
			return nil, err
		}
		out[name] = parsed
	}
	return out, nil
}
