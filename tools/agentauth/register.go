package agentauth

import (
	"cmp"
	"context"
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
func (c *Clients) looks(ctx context.Context, call tools.Call, server string) (p place, who looker, err error) {
	g, err := c.guest(ctx, call, server)
	switch {
	case err != nil:
		return p, nil, err
	case g.Agent == "":
		return g.place, g.host.Server, nil
	}
	return g.place, g.agent(), nil
}

func (c *Clients) list(ctx context.Context, call tools.Call, in search) (listing, error) {
	p, who, err := c.looks(ctx, call, in.Server)
	if err != nil {
		return listing{}, err
	}
	page, err := who.Capabilities(ctx, client.Query{Text: in.Query, Cursor: in.Cursor, Limit: in.Limit})
	if err != nil {
		return listing{}, explain(p, err)
	}
	return listing{words(p), append([]client.Capability{}, page.Capabilities...), page.NextCursor}, nil
}

func (c *Clients) describe(ctx context.Context, call tools.Call, in capabilityRef) (description, error) {
	p, who, err := c.looks(ctx, call, in.Server)
	if err != nil {
		return description{}, err
	}
	one, err := who.Describe(ctx, in.Capability)
	if err != nil {
		return description{}, explain(p, err)
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

func (g *guest) status(ctx context.Context, _ serverAt) (standing, error) {
	return g.standingOf(g.host.Status(ctx, g.Agent))
}

// register registers the caller. One who is registered, and has not ended there, is told
// how it stands; one who waits asks anew, by the same key, and gets another code.
func (c *Clients) register(ctx context.Context, call tools.Call, in registration) (standing, error) {
	g, err := c.guest(ctx, call, in.Server)
	if err != nil {
		return standing{}, err
	}
	var waiting *client.Standing
	if g.Agent != "" {
		st, err := g.again(ctx)
		if err != nil || st != nil && st.Status != client.Pending {
			return g.standingOf(st, err)
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
	r := &client.Registration{Name: cmp.Or(g.life.Agent(), c.opts.Name), Capabilities: in.Capabilities, Mode: in.Mode, Reason: in.Reason, HostName: c.opts.Name}
	st, err := g.host.Register(ctx, client.Public(g.own(g.Nonce)), r)
	if _, refused := errors.AsType[*client.Refusal](err); refused && waiting != nil {
		return stands(g.place, waiting), nil
	}
	if err == nil && st.AgentID == "" {
		err = fault.New(fault.Format, "the server gives the agent no id")
	}
	if err != nil {
		return standing{}, explain(g.place, err)
	}
	if err := g.save(ctx, Record{Agent: st.AgentID, Nonce: g.Nonce}); err != nil {
		return standing{}, err
	}
	return stands(g.place, st), nil
}

// standingOf is what an agent is told of an answer.
func (g *guest) standingOf(st *client.Standing, err error) (standing, error) {
	if err != nil {
		return standing{}, explain(g.place, err)
	}
	return stands(g.place, st), nil
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

func (g *guest) request(ctx context.Context, in escalation) (standing, error) {
	return g.standingOf(g.agent().Request(ctx, &client.Escalation{Capabilities: in.Capabilities, Reason: in.Reason}))
}

func (g *guest) reactivate(ctx context.Context, _ serverAt) (standing, error) {
	return g.standingOf(g.host.Reactivate(ctx, g.Agent))
}

// rotate changes the key. The new one is kept before the server has it: where its answer
// is lost, the host, which signs for this, rotates once more.
func (g *guest) rotate(ctx context.Context, _ serverAt) (standing, error) {
	nonce, err := g.of.nonce()
	if err != nil {
		return standing{}, err
	}
	was := g.Record
	if err := g.save(ctx, Record{Agent: g.Agent, Nonce: nonce}); err != nil {
		return standing{}, err
	}
	st, err := g.host.RotateAgent(ctx, g.Agent, client.Public(g.own(nonce)))
	if _, refused := errors.AsType[*client.Refusal](err); refused {
		return standing{}, errors.Join(explain(g.place, err), g.save(ctx, was))
	}
	return g.standingOf(st, err)
}

// revoke gives capabilities back, or ends the registration.
func (g *guest) revoke(ctx context.Context, in ending) (standing, error) {
	if in.Capabilities == nil {
		return g.standingOf(g.host.Revoke(ctx, g.Agent))
	}
	if err := g.agent().RevokeCapability(ctx, in.Capabilities...); err != nil {
		return standing{}, explain(g.place, err)
	}
	return g.standingOf(g.host.Status(ctx, g.Agent))
}
