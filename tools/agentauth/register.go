package agentauth

import (
	"context"
	"crypto/ed25519"
	"errors"
	"net/http"

	"usher/tools"
	"usher/tools/agentauth/client"
	"usher/tools/fault"
)

// discovery is what a server says of itself.
type discovery struct {
	From string `json:"from" jsonschema:"whose words these are"`
	client.Document
}

// listing is a page of what a server offers.
type listing struct {
	From         string              `json:"from" jsonschema:"whose words these are"`
	Capabilities []client.Capability `json:"capabilities"`
	NextCursor   string              `json:"nextCursor,omitempty" jsonschema:"cursor of the next page; left out, this is the last"`
}

// description is one capability.
type description struct {
	From string `json:"from" jsonschema:"whose words these are"`
	client.Capability
}

// standing is how an agent stands at a server.
type standing struct {
	From string `json:"from" jsonschema:"whose words these are"`
	client.Standing
	Next string `json:"next,omitempty" jsonschema:"what to do now"`
}

func (c *Clients) discover(ctx context.Context, call tools.Call, in serverAt) (discovery, error) {
	p, err := parsePlace(in.Server)
	if err != nil {
		return discovery{}, err
	}
	s, err := c.find(ctx, call.Owner(), p)
	if err != nil {
		return discovery{}, err
	}
	return discovery{words(p), s.Document}, nil
}

// looker is somebody whom a server shows what it offers.
type looker interface {
	Capabilities(ctx context.Context, q client.Query) (*client.Page, error)
	Describe(ctx context.Context, name string) (*client.Capability, error)
}

// looks returns the caller as the server shows most to: as the agent it is there, or as
// anybody. A host that nobody there knows is shown no more than anybody.
func (c *Clients) looks(ctx context.Context, call tools.Call, server string) (place, looker, error) {
	p, err := parsePlace(server)
	if err != nil {
		return p, nil, err
	}
	g, err := c.guest(ctx, call, p)
	if err != nil {
		return p, nil, err
	}
	if g.Agent == "" {
		return p, g.host.Server, nil
	}
	return p, g.agent(), nil
}

func (c *Clients) list(ctx context.Context, call tools.Call, in search) (listing, error) {
	p, who, err := c.looks(ctx, call, in.Server)
	if err != nil {
		return listing{}, err
	}
	page, err := who.Capabilities(ctx, client.Query{Text: in.Query, Cursor: in.Cursor, Limit: in.Limit})
	if err != nil {
		return listing{}, told(p, err)
	}
	return listing{words(p), append([]client.Capability{}, page.Capabilities...), page.NextCursor}, nil
}

func (c *Clients) describe(ctx context.Context, call tools.Call, in named) (description, error) {
	p, who, err := c.looks(ctx, call, in.Server)
	if err != nil {
		return description{}, err
	}
	one, err := who.Describe(ctx, in.Capability)
	if err != nil {
		return description{}, told(p, err)
	}
	return description{words(p), *one}, nil
}

// stands says how the caller stands, and what to do.
func stands(p place, st *client.Standing) standing {
	out := standing{From: words(p), Standing: *st}
	waits := st.Status == client.Pending
	for _, g := range st.Grants {
		waits = waits || g.Status == client.Pending
	}
	switch {
	case waits && st.Approval != nil && st.Approval.UserCode != "":
		out.Next = "A person has to approve: give them the address and the code, and ask agentauth:status later."
	case waits:
		out.Next = "A person has to approve. Ask agentauth:status later."
	case st.Status == client.Expired:
		out.Next = "Call agentauth:reactivate, and ask again for what you need."
	}
	return out
}

func (c *Clients) status(ctx context.Context, call tools.Call, in serverAt) (standing, error) {
	p, g, _, err := c.at(ctx, call, in.Server)
	if err != nil {
		return standing{}, err
	}
	st, err := g.host.Status(ctx, g.Agent)
	if err != nil {
		return standing{}, told(p, err)
	}
	return stands(p, st), nil
}

// register registers the caller. One who is registered, and has not ended there, is told
// how it stands; one who waits asks anew, by the same key, and gets another code.
func (c *Clients) register(ctx context.Context, call tools.Call, in registration) (standing, error) {
	p, err := parsePlace(in.Server)
	if err != nil {
		return standing{}, err
	}
	g, err := c.guest(ctx, call, p)
	if err != nil {
		return standing{}, err
	}
	var waiting *client.Standing
	if g.Agent != "" {
		st, err := g.again(ctx)
		if err != nil || st != nil && st.Status != client.Pending {
			return stood(p, st, err)
		}
		waiting = st
	}
	if waiting == nil && (g.Agent != "" || g.Nonce == "") {
		nonce, err := c.nonce()
		if err != nil {
			return standing{}, err
		}
		if err := g.save(ctx, Record{Nonce: nonce}); err != nil {
			return standing{}, err
		}
	}
	r := &client.Registration{Name: call.Actor(), Capabilities: wanted(in.Capabilities), Mode: in.Mode, Reason: in.Reason, HostName: c.opts.Name}
	if r.Name == "" {
		r.Name = c.opts.Name
	}
	st, err := g.host.Register(ctx, publicOf(g.own(g.Nonce)), r)
	if _, refused := errors.AsType[*client.Refusal](err); refused && waiting != nil {
		return stands(p, waiting), nil
	}
	if err == nil && st.AgentID == "" {
		err = fault.New(fault.Format, "the server gives the agent no id")
	}
	if err != nil {
		return standing{}, told(p, err)
	}
	if err := g.save(ctx, Record{Agent: st.AgentID, Nonce: g.Nonce}); err != nil {
		return standing{}, err
	}
	return stands(p, st), nil
}

func stood(p place, st *client.Standing, err error) (standing, error) {
	if err != nil {
		return standing{}, told(p, err)
	}
	return stands(p, st), nil
}

// again is how an agent stands that was registered before; nil for one that has ended.
func (g *guest) again(ctx context.Context) (*client.Standing, error) {
	st, err := g.host.Status(ctx, g.Agent)
	if refused, ok := errors.AsType[*client.Refusal](err); ok && (refused.Status == http.StatusUnauthorized || refused.Status == http.StatusNotFound || refused.Code == "agent_revoked") {
		return nil, nil //nolint:nilnil // there is none any more, which is no error
	}
	if err != nil {
		return nil, err
	}
	switch st.Status {
	case client.Revoked, client.Rejected, client.Claimed:
		return nil, nil //nolint:nilnil // as above
	}
	return st, nil
}

func publicOf(key ed25519.PrivateKey) ed25519.PublicKey {
	return ed25519.PublicKey(key[len(key)-ed25519.PublicKeySize:])
}

func (c *Clients) request(ctx context.Context, call tools.Call, in escalation) (standing, error) {
	p, _, agent, err := c.at(ctx, call, in.Server)
	if err != nil {
		return standing{}, err
	}
	st, err := agent.Request(ctx, &client.Escalation{Capabilities: wanted(in.Capabilities), Reason: in.Reason})
	return stood(p, st, err)
}

func (c *Clients) reactivate(ctx context.Context, call tools.Call, in serverAt) (standing, error) {
	p, g, _, err := c.at(ctx, call, in.Server)
	if err != nil {
		return standing{}, err
	}
	st, err := g.host.Reactivate(ctx, g.Agent)
	return stood(p, st, err)
}

// rotate changes the key. The new one is kept before the server has it: where its answer
// is lost, the host, which signs for this, rotates once more.
func (c *Clients) rotate(ctx context.Context, call tools.Call, in serverAt) (standing, error) {
	p, g, _, err := c.at(ctx, call, in.Server)
	if err != nil {
		return standing{}, err
	}
	nonce, err := c.nonce()
	if err != nil {
		return standing{}, err
	}
	was := g.Record
	if err := g.save(ctx, Record{Agent: g.Agent, Nonce: nonce}); err != nil {
		return standing{}, err
	}
	st, err := g.host.RotateAgent(ctx, g.Agent, publicOf(g.own(nonce)))
	if _, refused := errors.AsType[*client.Refusal](err); refused {
		return standing{}, errors.Join(told(p, err), g.save(ctx, was))
	}
	return stood(p, st, err)
}

// revoke gives capabilities back, or ends the registration.
func (c *Clients) revoke(ctx context.Context, call tools.Call, in ending) (standing, error) {
	p, g, agent, err := c.at(ctx, call, in.Server)
	if err != nil {
		return standing{}, err
	}
	if in.Capabilities == nil {
		st, err := g.host.Revoke(ctx, g.Agent)
		return stood(p, st, err)
	}
	if err := agent.RevokeCapability(ctx, in.Capabilities...); err != nil {
		return standing{}, told(p, err)
	}
	st, err := g.host.Status(ctx, g.Agent)
	return stood(p, st, err)
}
