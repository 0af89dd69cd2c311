package visitors

import (
	"context"

	"usher/ucan"
)

// Claim has a person asked to take over an autonomous agent of the host: once they approve,
// the agent is claimed, for good, and its host is theirs, to register agents for them. Until
// then the agent goes on.
func (r *Room) Claim(ctx context.Context, by *Caller, id string, in Petition) (*RegisterResult, error) {
	if by.Agent != nil {
		return nil, refuse(Unauthorized, "the host has its agents claimed")
	}
	if len(in.Capabilities) > 0 {
		return nil, refuse(InvalidRequest, "a claim asks for no capabilities: register the agent that comes afterwards")
	}
	if err := in.check(r.set.Load()); err != nil {
		return nil, err
	}
	if err := r.strange(by); err != nil {
		return nil, err
	}
	return r.askPerson(ctx, by, id, "claim", func(a *Agent, h *Host) (ask, error) {
		if err := r.active(a, h); err != nil {
			return ask{}, err
		}
		if a.Mode != Autonomous {
			return ask{}, refuse(unsupportedMode, "the agent is %s: only %s ones are claimed", a.Mode, Autonomous)
		}
		return in.of(kindClaim, h.User), nil
	})
}

// NewCode gives what an agent waits for another code. The one before is dead.
func (r *Room) NewCode(ctx context.Context, by *Caller, id string) (*RegisterResult, error) {
	if by.Agent != nil {
		return nil, refuse(Unauthorized, "the host asks for another code")
	}
	if err := r.strange(by); err != nil {
		return nil, err
	}
	return r.askPerson(ctx, by, id, "device-code", func(a *Agent, h *Host) (next ask, err error) {
		if err := r.active(a, h); err != nil && codeOf(err) != agentPending {
			return next, err
		}
		if a.Ask == nil {
			return next, refuse(InvalidRequest, "the agent waits for nobody: there is nothing to approve")
		}
		next = *a.Ask
		next.Wrong, next.Method = 0, deviceMethod
		if next.Asked.IsZero() {
			next.Asked = h.User
		}
		return next, nil
	})
}

// strange counts what a host asks for that nobody answers for, with the registrations of all
// strangers.
func (r *Room) strange(by *Caller) error {
	if by.Host.User.IsZero() {
		return r.rates.stranger(r.Now())
	}
	return nil
}

// askPerson has a person asked what next says, and writes so.
func (r *Room) askPerson(ctx context.Context, by *Caller, id, call string, next func(*Agent, *Host) (ask, error)) (*RegisterResult, error) {
	var said *Approval
	out, err := r.edit(ctx, by, id, func(c *change, a *Agent, h *Host) error {
		ask, err := next(a, h)
		if err == nil && a.Status == Pending { // it may have counted no more
			err = r.slot(ctx, c, h.ID, a.ID)
		}
		if err != nil {
			return err
		}
		c.asks = true
		c.says(by, ucan.DID{}, call, a, string(Pending))
		c.row.Detail = ask.Kind
		said, err = r.ask(ctx, c, a, h, ask)
		return err
	})
	if err == nil {
		out.Approval = said
	}
	return out, err
}
