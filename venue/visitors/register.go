package visitors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"usher/caps/value"
	"usher/ucan"
)

// Register makes an agent, and its host where that is new.
func (r *Room) Register(ctx context.Context, req *Request, in Registration) (c *Caller, out *RegisterResult, err error) {
	s := r.set.Load()
	if in.Name == "" {
		return nil, nil, refuse(InvalidRequest, "name is missing: say what the agent is called")
	}
	if c, err = r.registrar(ctx, req, in.HostName); err != nil {
		return c, nil, err
	}
	in.Mode = cmp.Or(in.Mode, delegated)
	if in.Mode != delegated && (in.Mode != Autonomous || s.Autonomous == nil) {
		return c, nil, refuse(unsupportedMode, "mode is %s: this venue takes %s", value.Quote(in.Mode), strings.Join(r.Modes(), ", "))
	}
	if err := plainTexts(map[string]string{"name": in.Name, "host_name": in.HostName}, maxName); err != nil {
		return c, nil, err
	}
	if err := in.check(s); err != nil {
		return c, nil, err
	}
	key, jwks, err := r.agentKey(ctx, c.token)
	if err != nil {
		return c, nil, err
	}
	if key == c.Host.Key {
		return c, nil, errHostKey
	}
	err = r.again(ctx, func(change *change) error {
		if err := r.asNow(ctx, c); err != nil {
			return err
		}
		out, err = r.register(ctx, change, c, key, jwks, &in)
		return err
	})
	return c, out, err
}

var errHostKey = refuse(invalidKey, "the agent has the key of its host: make it one of its own")

// asNow has the host of a caller be as it is now: another request may have changed it, or
// registered it by the same key.
func (r *Room) asNow(ctx context.Context, c *Caller) error {
	h, err := r.host(ctx, c.Host.ID)
	isNew := c.Host.ID == ""
	if isNew {
		h, err = r.hostOfKey(ctx, thumbprint(c.Host.Key))
	}
	switch {
	case err != nil:
		return err
	case h == nil && isNew:
		return nil
	case h == nil, isNew && (h.Key != c.Host.Key || h.JWKS != c.Host.JWKS):
		return errUnverified
	}
	if err := c.signs(nil, h); err != nil {
		return err
	}
	c.Host = h
	return c.checkStands()
}

// Modes are those in which agents are let in.
func (r *Room) Modes() []string {
	if r.set.Load().Autonomous == nil {
		return []string{delegated}
	}
	return []string{delegated, Autonomous}
}

// registrar is the host that registers: a known one, or a new one by the key that it brings.
func (r *Room) registrar(ctx context.Context, req *Request, name string) (*Caller, error) {
	if req.Token == "" {
		return nil, errNoToken
	}
	t, err := readToken(req.Token)
	if err != nil {
		return nil, err
	}
	if t.typ != hostType {
		return nil, badJWT("this is for hosts: send the JWT of one (typ %s)", hostType)
	}
	c := &Caller{token: t}
	if err = r.findHost(ctx, c); err != nil && !errors.Is(err, errUnverified) {
		return nil, err
	}
	if c.Host == nil || c.Host.User.IsZero() {
		if err := r.rates.stranger(r.Now()); err != nil {
			return nil, err
		}
	}
	if err := r.sweep(ctx); err != nil {
		return nil, err
	}
	if c.Host == nil {
		c.Host, err = r.stranger(ctx, t, name)
		if errors.Is(err, errUnverified) { // where another request has registered it in the meantime
			err = r.findHost(ctx, c)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := t.holds(r.Now(), req); err != nil {
		return c, err
	}
	if err := r.fresh(ctx, c); err != nil {
		return c, err
	}
	return c, c.checkStands()
}

// stranger is a host that nobody here knows. Its iss is the thumbprint of its key.
func (r *Room) stranger(ctx context.Context, t *token, name string) (h *Host, err error) {
	h = &Host{Name: cmp.Or(name, t.HostName), Status: Pending}
	switch {
	case len(t.HostKey) > 0:
		h.Key, err = readKey(t.HostKey)
	case t.HostJWKS != "":
		h.JWKS = t.HostJWKS
		h.Key, err = r.fetchKey(ctx, t.HostJWKS, t.kid)
	default:
		return nil, errUnverified
	}
	if err != nil {
		return nil, err
	}
	thumbprint := thumbprint(h.Key)
	if t.Issuer != thumbprint {
		return nil, badJWT("iss of the JWT is not the thumbprint of the host's key (RFC 7638)")
	}
	kind, _, err := r.ownerOf(ctx, thumbprint)
	if err != nil {
		return nil, err
	}
	if kind != "" { // a key that was replaced, or an agent's
		return nil, errUnverified
	}
	if err := plainTexts(map[string]string{"host_name": h.Name}, maxName); err != nil {
		return nil, err
	}
	return h, t.verify(h.Key)
}

// agentKey is the key of the agent that a JWT of its host names.
func (r *Room) agentKey(ctx context.Context, t *token) (key ucan.DID, jwks string, err error) {
	switch {
	case len(t.AgentKey) > 0:
		key, err = readKey(t.AgentKey)
	case t.AgentJWKS != "":
		jwks = t.AgentJWKS
		key, err = r.fetchKey(ctx, t.AgentJWKS, t.AgentKID)
	default:
		err = refuse(invalidKey, "the JWT names no key of the agent: put it into agent_public_key, or its URL into agent_jwks_url")
	}
	return key, jwks, err
}

// register makes the records, or asks anew for an agent that waits.
func (r *Room) register(ctx context.Context, c *change, by *Caller, key ucan.DID, jwks string, in *Registration) (*RegisterResult, error) {
	now := r.Now()
	h, a := *by.Host, (*Agent)(nil)
	kind, id, err := r.ownerOf(ctx, thumbprint(key))
	if err != nil {
		return nil, err
	}
	switch kind {
	case "":
	case "agent":
		if a, _, err = r.agent(ctx, id); err != nil {
			return nil, err
		}
		if a == nil || a.Host != h.ID || a.Key != key || a.Status != Pending {
			return nil, refuse(agentExists, "the key of the agent is or was an agent's: make it a new one")
		}
	default:
		return nil, refuse(agentExists, "the key of the agent is or was a host's: make it a new one")
	}
	if h.ID == "" {
		if h.ID, err = r.NewID(); err != nil {
			return nil, err
		}
		h.ID, h.Created = "hst_"+h.ID, now.UnixMilli()
		c.set(thumbKey(thumbprint(h.Key)), 0, []byte("host "+h.ID))
	}
	if a == nil {
		a = &Agent{Host: h.ID, Key: key, JWKS: jwks, Created: now.UnixMilli()}
		if a.ID, err = r.NewID(); err != nil {
			return nil, err
		}
		a.ID = "agt_" + a.ID
		c.set(thumbKey(thumbprint(key)), 0, []byte("agent "+a.ID))
	}
	if err := r.slot(ctx, c, h.ID, a.ID); err != nil {
		return nil, err
	}
	c.Put[ofHost(h.ID)+a.ID] = nil
	isNew := a.rev == 0
	a.Name, a.Mode, a.Reason, a.Grants = in.Name, in.Mode, in.Reason, nil
	out := &RegisterResult{Agent: a, Host: &h}
	if in.Mode == Autonomous {
		err = r.autonomous(ctx, c, a, &h, in)
	} else {
		out.Approval, err = r.giveDefaults(ctx, c, a, &h, in)
	}
	if err != nil {
		return nil, err
	}
	if isNew {
		r.mark(c, a)
	}
	if c.same(&h); h != *by.Host {
		c.host(&h, now)
	}
	c.agent(a, now)
	c.row = (&Caller{Host: &h, Agent: a, token: by.token}).row("register")
	c.row.Result, c.row.Detail = string(a.Status), strings.Join(names(in.Capabilities), " ")
	return out, nil
}

var errNotAutonomous = refuse(unsupportedMode, "this venue lets no autonomous agents in any more")

// autonomous activates an agent that nobody approves, within what the configuration allows.
func (r *Room) autonomous(ctx context.Context, c *change, a *Agent, h *Host, in *Registration) (err error) {
	s := r.set.Load()
	switch {
	case s.Autonomous == nil:
		return errNotAutonomous
	case !h.User.IsZero():
		return refuse(unsupportedMode, "the host acts for a person: its agents are delegated ones")
	}
	wanted := in.Capabilities
	for i := range wanted {
		if !slices.Contains(s.Autonomous.Capabilities, wanted[i].Name) {
			return refuse(blockedCap, "autonomous agents do not get %s", wanted[i].Name).with("invalid_capabilities", []string{wanted[i].Name})
		}
	}
	if wanted == nil {
		for _, name := range s.Autonomous.Capabilities {
			wanted = append(wanted, Want{Name: name})
		}
	}
	if err := r.forget(ctx, c, a); err != nil { // where it was to be approved before
		return err
	}
	a.User = s.lender
	r.activate(a)
	if h.Status == Pending {
		h.Status = Active
	}
	for i := range wanted {
		if err := r.giveDefault(ctx, c, a, &wanted[i], in.Reason, time.Time{}); err != nil {
			return err
		}
	}
	return nil
}

// giveDefault signs another grant of an agent, which nobody is asked for.
func (r *Room) giveDefault(ctx context.Context, c *change, a *Agent, w *Want, reason string, until time.Time) error {
	g := r.newGrant(w, reason)
	g.Default = true
	if err := r.issue(ctx, c, a, &g, a.User, until); err != nil {
		return err
	}
	a.Grants = append(a.Grants, g)
	return nil
}

func (r *Room) activate(a *Agent) {
	now := r.Now().UnixMilli()
	a.Status, a.Activated, a.Seen = Active, now, now
}

func (r *Room) newGrant(w *Want, reason string) Grant {
	now := r.Now().UnixMilli()
	return Grant{Capability: w.Name, Status: Pending, Constraints: w.Constraints, Reason: reason, Created: now, Updated: now}
}

// giveDefaults gives an agent of an approved host the defaults that it asks for, and has a person
// asked for the rest.
func (r *Room) giveDefaults(ctx context.Context, c *change, a *Agent, h *Host, in *Registration) (*Approval, error) {
	s, wanted := r.set.Load(), in.Capabilities
	if wanted == nil {
		for i := range s.Capabilities {
			if s.Capabilities[i].Default {
				wanted = append(wanted, Want{Name: s.Capabilities[i].Name})
			}
		}
	}
	linked := h.Status == Active && !h.User.IsZero()
	if h.Status == Active && h.User.IsZero() {
		h.Status = Pending // it had autonomous agents alone: a person approves it now
	}
	a.Status, a.User = Pending, h.User
	asks := !linked || in.Force
	for i := range wanted {
		a.Grants = append(a.Grants, r.newGrant(&wanted[i], in.Reason))
		asks = asks || !s.grant[wanted[i].Name].Default
	}
	if !asks {
		if err := r.forget(ctx, c, a); err != nil {
			return nil, err
		}
		r.activate(a)
		return nil, r.defaults(ctx, c, a)
	}
	return r.ask(ctx, c, a, h, in.of(kindRegister, h.User))
}

// defaults signs the grants of an agent that a person need not be asked for.
func (r *Room) defaults(ctx context.Context, c *change, a *Agent) error {
	s := r.set.Load()
	for i := range a.Grants {
		g := &a.Grants[i]
		if of := s.grant[g.Capability]; g.Status != Pending || of == nil || !of.Default {
			continue
		}
		g.Default = true
		if err := r.issue(ctx, c, a, g, a.User, time.Time{}); err != nil {
			return fmt.Errorf("grant %s: %w", g.Capability, err)
		}
	}
	return nil
}
