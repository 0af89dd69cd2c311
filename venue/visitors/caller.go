package visitors

import (
	"context"
	"slices"
	"strings"
	"time"

	"usher/caps/value"
	"usher/ucan"
)

// Caller is who sends a request, by a JWT whose signature holds. It may be revoked.
type Caller struct {
	Host  *Host
	Agent *Agent // nil where the host speaks
	token *token
	fresh bool // the JWT was let through, once
}

func (c *Caller) row(call string) row {
	what := row{Call: call}
	if c == nil {
		return what
	}
	if c.token != nil {
		what.JTI = value.Cut(c.token.ID, maxJTI)
	}
	if c.Host != nil {
		what.Host = c.Host.ID
		if !c.Host.User.IsZero() {
			what.User = c.Host.User.String()
		}
	}
	if c.Agent != nil {
		what.Agent = c.Agent.ID
		if !c.Agent.User.IsZero() {
			what.User = c.Agent.User.String()
		}
	}
	return what
}

// claims reports whether the JWT lets a capability be used: one without the claim does.
func (c *Caller) claims(capability string) bool {
	return c.token.Capabilities == nil || slices.Contains(*c.token.Capabilities, capability)
}

// checkClaim says so of a capability that the JWT does not let be used.
func (c *Caller) checkClaim(capability string) error {
	return refuse(notGranted, "the JWT does not let %s be used: its capabilities claim leaves it out", value.Quote(capability))
}

// mayChange reports why a caller changes nothing: its JWT is for capabilities alone, and by another key
// or more grants whoever bears it would have more.
func (c *Caller) mayChange() error {
	if c.Agent != nil && c.token.Capabilities != nil {
		return refuse(notGranted, "the JWT is for the capabilities that it names, and changes nothing: sign one without the claim capabilities")
	}
	return nil
}

// errNoToken says that a request needs a JWT and has none.
var errNoToken = refuse(Unauthorized, "send a JWT in the header, Authorization: Bearer; the discovery document says how to get in")

// Who reads the JWT of a request: whose it is, that it is fresh, and that it was not seen
// before. It says nothing of the status of the caller, but that of a revoked host.
func (r *Room) Who(ctx context.Context, req *Request) (*Caller, error) {
	c, err := r.readJWT(ctx, req)
	if err == nil {
		err = r.fresh(ctx, c)
	}
	if err != nil {
		return c, err
	}
	return c, c.checkStands()
}

// CheckSignature reports why a request whose body was not read yet is signed by nobody who is known. It
// uses up nothing.
func (r *Room) CheckSignature(ctx context.Context, req *Request) error {
	if _, err := r.readJWT(ctx, req); codeOf(err) != bindingMismatch { // which is of the body
		return err
	}
	return nil
}

// fresh counts a request of a caller, and lets its JWT through once.
func (r *Room) fresh(ctx context.Context, c *Caller) error {
	if err := r.Take(c); err != nil {
		return err
	}
	err := r.once(ctx, c.key(), c.token)
	c.fresh = err == nil
	return err
}

// Take counts one more request of a caller, also for what one request does more than once: by who it
// is, whichever key it has, and of those for whom nobody answers all together, with guests.
func (r *Room) Take(c *Caller) error {
	if err := r.rates.request(c.name(), r.Now()); err != nil {
		return err
	}
	if c.Host.User.IsZero() {
		return r.Guest()
	}
	return nil
}

// name is the id of the agent or the host, and the key of a host that has none yet.
func (c *Caller) name() string {
	switch {
	case c.Agent != nil:
		return c.Agent.ID
	case c.Host.ID != "":
		return c.Host.ID
	}
	return c.Host.Key.String()
}

func (c *Caller) key() ucan.DID {
	if c.Agent != nil {
		return c.Agent.Key
	}
	return c.Host.Key
}

// signs reports whether a caller's key is still that of the agent, or of the host, as they are now: a
// change is of who has their keys when it is made. Those at a URL were looked up with the request.
func (c *Caller) signs(a *Agent, h *Host) error {
	was, is, urlWas, url := c.Host.Key, h.Key, c.Host.JWKS, h.JWKS
	if c.Agent != nil {
		was, is, urlWas, url = c.Agent.Key, a.Key, c.Agent.JWKS, a.JWKS
	}
	if urlWas != url || url == "" && was != is {
		return errUnverified
	}
	return nil
}

func (c *Caller) checkStands() error {
	if c.Host.Status == Revoked && c.Agent == nil {
		return refuse(hostRevoked, "the host was revoked, for good")
	}
	return nil
}

// readJWT reads a JWT and verifies its signature by the key of a host or an agent that is
// known, then its times. Where these are wrong it says beside the error who has signed.
func (r *Room) readJWT(ctx context.Context, req *Request) (c *Caller, err error) {
	if req.Token == "" {
		return nil, errNoToken
	}
	t, err := readToken(req.Token)
	if err != nil {
		return nil, err
	}
	c = &Caller{token: t}
	if t.typ == agentType {
		err = r.findAgent(ctx, c)
	} else {
		err = r.findHost(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	return c, t.holds(r.Now(), req)
}

func (r *Room) findAgent(ctx context.Context, c *Caller) error {
	t := c.token
	if t.Subject == "" || len(t.Subject) > maxName {
		return errUnverified
	}
	a, h, err := r.agent(ctx, t.Subject)
	if err != nil {
		return err
	}
	if a == nil {
		return errUnverified
	}
	if err := r.checkKey(ctx, t, "agent "+a.ID, &a.Key, a.JWKS); err != nil {
		return err
	}
	if t.Issuer != "" && t.Issuer != h.ID && t.Issuer != thumbprint(h.Key) {
		return badJWT("iss of the JWT is not the host of the agent")
	}
	c.Agent, c.Host = a, h
	return nil
}

// findHost finds the host by iss: its id, or the thumbprint of its key.
func (r *Room) findHost(ctx context.Context, c *Caller) error {
	t := c.token
	if t.Issuer == "" || len(t.Issuer) > maxName {
		return errUnverified
	}
	h, err := r.host(ctx, t.Issuer)
	if h == nil && err == nil {
		h, err = r.hostOfKey(ctx, t.Issuer)
	}
	if err != nil {
		return err
	}
	if h == nil {
		return errUnverified
	}
	kept := h.Key
	if err := r.checkKey(ctx, t, "host "+h.ID, &h.Key, h.JWKS); err != nil {
		return err
	}
	c.Host = h
	if h.Key != kept && !h.User.IsZero() {
		return r.another(ctx, h)
	}
	return nil
}

// checkKey checks the signature of a token by the key that is kept. Where the keys are at a URL
// it is the one there that the kid names, which takes the place of the other in memory: what
// stands there no more is nobody's, and neither is what is or was somebody else's here.
func (r *Room) checkKey(ctx context.Context, t *token, whose string, key *ucan.DID, jwks string) error {
	if jwks == "" {
		return t.verify(*key)
	}
	other, err := r.fetchKey(ctx, jwks, t.kid)
	if err == nil {
		err = t.verify(other)
	}
	if err != nil {
		return errUnverified
	}
	if other == *key {
		return nil
	}
	kind, id, err := r.ownerOf(ctx, thumbprint(other))
	if err == nil && kind != "" && kind+" "+id != whose {
		err = errUnverified
	}
	if err == nil {
		*key = other
	}
	return err
}

// another notes that a host of a person has signed by another key than the one that is kept, so
// that this is nobody else's once the host is revoked.
func (r *Room) another(ctx context.Context, h *Host) error {
	return r.again(ctx, func(c *change) error {
		c.asks = true
		return r.own(ctx, c, h.Key, "host "+h.ID)
	})
}

// own adds to a change whose a key is, where nobody has or had it. Somebody else's proves nothing.
func (r *Room) own(ctx context.Context, c *change, key ucan.DID, whose string) error {
	mark := thumbKey(thumbprint(key))
	raw, rev, err := r.Store.Get(ctx, mark)
	switch {
	case err != nil:
		return err
	case rev == 0:
		c.set(mark, 0, []byte(whose))
	case string(raw) != whose:
		return errUnverified
	}
	return nil
}

// hostOfKey is the host whose key has or had a thumbprint; nil for none.
func (r *Room) hostOfKey(ctx context.Context, thumbprint string) (*Host, error) {
	kind, id, err := r.ownerOf(ctx, thumbprint)
	if err != nil || kind != "host" {
		return nil, err
	}
	return r.host(ctx, id)
}

// ownerOf says whose key has or had a thumbprint: "host" or "agent", and the id.
func (r *Room) ownerOf(ctx context.Context, thumbprint string) (kind, id string, err error) {
	raw, _, err := r.Store.Get(ctx, thumbKey(thumbprint))
	kind, id, _ = strings.Cut(string(raw), " ")
	return kind, id, err
}

// active reports why an agent may do nothing now.
func (r *Room) active(a *Agent, h *Host) error {
	switch status := r.Standing(a, h); status {
	case Active:
		return nil
	case expired:
		return refuse(agentExpired, "the agent has expired: its host has it go on by POST /agent/reactivate")
	case Pending:
		return refuse(agentPending, "a person has to approve the agent first")
	case rejected:
		return refuse(agentRejected, "a person has refused the agent, for good")
	case Claimed:
		return refuse(AgentClaimed, "a person has claimed the agent, for good: its host registers another, for them")
	default:
		if h.Status != Revoked && a.Status != Revoked && !a.isLeft(h) {
			return refuse(lifetimeExceeded, "the agent is older than an agent may be: register another")
		}
		return refuse(agentRevoked, "the agent was revoked, for good")
	}
}

// ActiveAgent is [Room.Who] for an agent that is active; it has been heard of now.
func (r *Room) ActiveAgent(ctx context.Context, req *Request) (*Caller, error) {
	c, err := r.Who(ctx, req)
	if err != nil {
		return c, err
	}
	return c, r.hear(ctx, c)
}

// hear reports why the caller is no active agent, and else notes that it was heard of.
func (r *Room) hear(ctx context.Context, c *Caller) error {
	if c.Agent == nil {
		return badJWT("this is for agents: send the JWT of one (typ %s)", agentType)
	}
	if err := r.active(c.Agent, c.Host); err != nil {
		return err
	}
	return r.touch(ctx, c.Agent)
}

// touch notes that an agent was heard of, some sixty times a session at most, and by which key
// of those at its URL, where a person answers for it.
func (r *Room) touch(ctx context.Context, a *Agent) error {
	now := r.Now()
	if now.Sub(time.UnixMilli(a.Seen)) < r.times().session/60 {
		return nil
	}
	before := a.Seen
	a.Seen = now.UnixMilli()
	stored := *a
	if a.Mode == Autonomous {
		stored.Key = a.kept
	}
	c := newChange()
	c.set(agentKey(a.ID), a.rev, encode(&stored))
	if a.JWKS != "" && a.Mode != Autonomous {
		if err := r.own(ctx, c, a.Key, "agent "+a.ID); err != nil {
			return err
		}
	}
	moved, err := r.Store.Apply(ctx, c.Expect, c.Put, nil)
	if err != nil {
		return err
	}
	if moved != "" { // whoever changed it meanwhile has seen it as it was
		a.Seen = before
		return nil
	}
	fresh, _, err := r.agent(ctx, a.ID)
	if err == nil && fresh != nil {
		a.rev = fresh.rev
	}
	return err
}
