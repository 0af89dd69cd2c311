package visitors

import "context"

// Claim has a person asked to take over an autonomous agent of the host: once they approve,
// the agent is claimed, for good, and its host is theirs, to register agents for them. Until
// then the agent goes on.
func (r *Room) Claim(ctx context.Context, by *Caller, id string, in Asking) (out *Registered, err error) {
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
	err = r.again(ctx, func() error {
		a, h, err := r.mineActive(ctx, by, id)
		if err != nil {
			return err
		}
		if a.Mode != Autonomous {
			return refuse(UnsupportedMode, "the agent is %s: only %s ones are claimed", a.Mode, Autonomous)
		}
		out, err = r.askFor(ctx, by, a, h, "claim", in.of(kindClaim, h.User))
		return err
	})
	return out, err
}

// NewCode gives what an agent waits for another code. The one before is dead.
func (r *Room) NewCode(ctx context.Context, by *Caller, id string) (out *Registered, err error) {
	if by.Agent != nil {
		return nil, refuse(Unauthorized, "the host asks for another code")
	}
	if err := r.strange(by); err != nil {
		return nil, err
	}
	err = r.again(ctx, func() error {
		a, h, err := r.mine(ctx, by, id)
		if err != nil {
			return err
		}
		if err := r.active(a, h); err != nil && codeOf(err) != AgentPending {
			return err
		}
		if a.Ask == nil {
			return refuse(InvalidRequest, "the agent waits for nobody: there is nothing to approve")
		}
		ask := *a.Ask
		ask.Wrong, ask.Method = 0, deviceMethod
		if ask.Asked.IsZero() {
			ask.Asked = h.User
		}
		out, err = r.askFor(ctx, by, a, h, "device-code", ask)
		return err
	})
	return out, err
}

// strange counts what a host asks for that nobody answers for, with the registrations of all
// strangers.
func (r *Room) strange(by *Caller) error {
	if by.Host.User.IsZero() {
		return r.rates.stranger(r.Now())
	}
	return nil
}

// askFor has a person asked, and writes so.
func (r *Room) askFor(ctx context.Context, by *Caller, a *Agent, h *Host, call string, ask ask) (*Registered, error) {
	c := newChange()
	c.asks = true
	if a.Status == Pending { // it may have counted no more
		if err := r.slot(ctx, c, h.ID, a.ID); err != nil {
			return nil, err
		}
	}
	approval, err := r.ask(ctx, c, a, h, ask)
	if err != nil {
		return nil, err
	}
	c.agent(a, r.Now())
	c.same(h)
	what := by.row(call)
	what.Agent, what.Result, what.Detail = a.ID, string(Pending), ask.Kind
	return &Registered{Agent: a, Host: h, Approval: approval}, r.write(ctx, c, what)
}

// claimed adds to a change that a person has taken an agent over, and makes it: what the agent
// was granted ends.
func (r *Room) claimed(ctx context.Context, c *change, a *Agent, what row) error {
	tokens := tokensOf(a, Revoked, r.Now(), every)
	a.Status, what.Result, what.Detail = Claimed, string(Claimed), kindClaim
	c.agent(a, r.Now())
	r.over(c, a)
	return r.retract(ctx, c, what, a.User, tokens)
}
