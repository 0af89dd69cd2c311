package visitors

import (
	"context"
	"encoding/json"
	"errors"

	"usher/caps"
	"usher/caps/value"
	"usher/tools"
	"usher/venue/config"
)

// Execution is what a granted capability lets a call do.
type Execution struct {
	Capability *config.AgentCapability
	Authority  tools.Authority // the agent's, within the grants that the arguments fit
	Further    tools.Authority // and what the operation may do while it runs, where that is more; else the same
	Operation  string
	Input      json.RawMessage
}

// Execution decides whether an active agent may use a capability with arguments. It grants
// nothing.
func (r *Room) Execution(ctx context.Context, by *Caller, name string, args json.RawMessage) (*Execution, error) {
	a := by.Agent
	c := r.set.Load().grant[name]
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	grants := r.grantsOf(ctx, a, name)
	switch {
	case !by.claims(name):
		return nil, by.checkClaim(name)
	case c == nil && len(a.Grants) > 0 && r.best(ctx, a, name) != "":
		return nil, refuse(notGranted, "there is no capability %s any more", name)
	case c == nil:
		return nil, refuse(CapNotFound, "there is no such capability: GET /capability/list has those that there are")
	case c.Location != "":
		return nil, refuse(InvalidRequest, "%s is executed elsewhere", name).with("location", c.Location)
	case len(grants) == 0 && r.best(ctx, a, name) == Revoked:
		return nil, refuse(grantRevoked, "the grant of %s was revoked: ask for it again (POST /agent/request-capability)", name)
	case len(grants) == 0:
		return nil, refuse(notGranted, "%s was not granted to the agent: ask for it (POST /agent/request-capability)", name)
	}
	input, err := value.Object(args, value.MaxDepth)
	if err != nil {
		return nil, refuse(InvalidRequest, "arguments is no JSON object: %v", err)
	}
	var may []caps.Capability
	var violated []violation
	for _, g := range grants {
		w, err := r.worth(ctx, a, g)
		if _, contradicts := errors.AsType[*Refusal](err); contradicts {
			continue // the configuration imposes what the grant does not leave
		}
		if err != nil {
			return nil, err
		}
		if list := w.limits.check(input); len(list) > 0 {
			if violated == nil {
				violated = list
			}
			continue
		}
		may = append(may, w.list...)
	}
	if len(may) == 0 {
		if violated == nil {
			return nil, refuse(notGranted, "the grant of %s gives nothing any more", name)
		}
		return nil, refuse(beyondLimits, "the arguments do not keep to the constraints of the grant").with("violations", violated)
	}
	auth := r.Mint.Agent(a.User, lifeOf(a)).AsRelay()
	x := &Execution{c.AgentCapability, auth.Narrow(caps.Of(may...)), auth.Narrow(caps.Of(append(may, c.within...)...)), c.Operation, args}
	return x, nil
}

// grantsOf lists the grants of a capability that stand.
func (r *Room) grantsOf(ctx context.Context, a *Agent, name string) (list []*Grant) {
	for i := range a.Grants {
		if g := &a.Grants[i]; g.Capability == name && r.stands(ctx, a, g) {
			list = append(list, g)
		}
	}
	return list
}

// Still says why an agent may do no more what it was let do.
func (r *Room) Still(ctx context.Context, id, capability string) error {
	a, h, err := r.agent(ctx, id)
	if err != nil || a == nil {
		return errUnverified
	}
	if err := r.active(a, h); err != nil {
		return err
	}
	if r.set.Load().grant[capability] == nil {
		return refuse(notGranted, "there is no capability %s any more", value.Quote(capability))
	}
	if len(r.grantsOf(ctx, a, capability)) == 0 {
		return refuse(grantRevoked, "the grant of %s was revoked", capability)
	}
	return nil
}

// job says who began a run by an execute.
type job struct {
	Agent      string `json:"agent"`
	Capability string `json:"capability"`
	JTI        string `json:"jti"` // of the JWT that began it
	Owner      string `json:"owner"`
	Expires    int64  `json:"expires"` // s: until when that JWT may ask for it again
}

// Began notes that an agent began a run.
func (r *Room) Began(ctx context.Context, by *Caller, capability, run string) error {
	if err := r.sweep(ctx); err != nil {
		return err
	}
	j := job{by.Agent.ID, capability, by.token.ID, by.Agent.User.String(), by.token.ends().Unix()}
	due := dueKey(r.Now().Add(jobLife), jobMark+run)
	_, err := r.Store.Apply(ctx, map[string]uint64{jobKey(run): 0}, map[string][]byte{jobKey(run): encode(j), due: nil}, nil)
	return err
}

// Job is an agent that asks for a run that it began. The JWT that began it may ask again
// while it holds; any other works once.
func (r *Room) Job(ctx context.Context, req *Request, run string) (by *Caller, capability string, err error) {
	if by, err = r.readJWT(ctx, req); err != nil {
		return by, "", err
	}
	var j job
	if len(run) <= maxName {
		if _, err := look(ctx, r, jobKey(run), &j); err != nil {
			return by, "", err
		}
	}
	mine := by.Agent != nil && j.Agent == by.Agent.ID && j.Owner == by.Agent.User.String()
	if mine && j.JTI == by.token.ID && r.Now().Unix() <= j.Expires {
		err = r.Take(by)
	} else {
		err = r.fresh(ctx, by)
	}
	if err == nil {
		err = r.hear(ctx, by)
	}
	if err == nil && !mine {
		err = refuse(jobNotFound, "the agent has begun no such job")
	}
	if err == nil && !by.claims(j.Capability) {
		err = by.checkClaim(j.Capability)
	}
	return by, j.Capability, err
}
