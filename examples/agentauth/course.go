package main

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"usher/tools/agentauth/client"
)

// course is what the program does at a server.
type course struct {
	out             io.Writer
	do, batch, more deeds
	name, reason    string
	options         *client.Options // of the client; nil: its own
	credential      string

	server *client.Server
	host   *client.Host
	agent  *client.Agent
}

// take takes the course at the server of an URL.
func (c *course) take(ctx context.Context, at string) error {
	for _, step := range []func(context.Context, string) error{c.discover, c.register, c.work, c.escalate, c.rotate, c.end} {
		if err := step(ctx, at); err != nil {
			return err
		}
	}
	return nil
}

func (c *course) discover(ctx context.Context, at string) (err error) {
	if c.server, err = client.Discover(ctx, at, c.options); err != nil {
		return err
	}
	say(c.out, "found %s, version %s, issuer %s", c.server.ProviderName, c.server.Version, c.server.Issuer)
	page, err := c.server.Capabilities(ctx, client.Query{})
	if err != nil {
		return err
	}
	for _, offer := range page.Capabilities {
		say(c.out, "  offers anybody to see %s: %s", offer.Name, offer.Description)
	}
	return nil
}

// register makes keys, registers, and waits until a person has decided.
func (c *course) register(ctx context.Context, _ string) error {
	_, hostKey, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	agentPublic, agentKey, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	wanted, names := slices.Concat(c.do, c.batch).wants()
	c.host = c.server.Host(hostKey)
	st, err := c.host.Register(ctx, agentPublic, &client.Registration{Name: c.name, Reason: c.reason, Capabilities: wanted})
	if err != nil {
		return fmt.Errorf("register: %w", err)
	}
	say(c.out, "registered %s: %s", st.AgentID, st.Status)
	c.agent = c.host.Agent(st.AgentID, agentKey)
	st, err = c.await(ctx, st, names)
	if err != nil {
		return err
	}
	c.printGrants(st)
	return nil
}

// await prints where a person approves, and waits for the decision.
func (c *course) await(ctx context.Context, st *client.Standing, names []string) (*client.Standing, error) {
	if a := st.Approval; a != nil {
		uri := a.URIComplete
		if uri == "" {
			uri = a.URI
		}
		say(c.out, "approve at %s with the code %s", uri, a.UserCode)
	}
	st, err := c.host.Await(ctx, c.agent.ID, st.Approval.Every(), names...)
	if err != nil {
		return nil, fmt.Errorf("wait for the approval: %w", err)
	}
	return st, nil
}

func (c *course) printGrants(st *client.Standing) {
	for _, g := range st.Grants {
		within := ""
		if len(g.Constraints) > 0 {
			within = " within " + string(g.Constraints)
		}
		say(c.out, "  %s is %s%s", g.Capability, g.Status, within)
	}
}

// work executes what was asked for: one by one, and what is for a batch as one.
func (c *course) work(ctx context.Context, _ string) error {
	if err := c.execute(ctx, c.do); err != nil {
		return err
	}
	if len(c.batch) == 0 {
		return nil
	}
	items, err := c.agent.Batch(ctx, c.batch)
	if err != nil {
		return fmt.Errorf("execute a batch: %w", err)
	}
	for _, it := range items {
		say(c.out, "of the batch, %s %s: %s%s", it.ID, it.Status, it.Data, it.Error)
	}
	return nil
}

func (c *course) execute(ctx context.Context, list deeds) error {
	for i := range list {
		call := &list[i]
		offer, err := c.agent.Describe(ctx, call.Capability)
		if err != nil {
			return fmt.Errorf("describe %s: %w", call.Capability, err)
		}
		call.Location = offer.Location
		answer, err := c.agent.Execute(ctx, call, func(chunk json.RawMessage) error {
			say(c.out, "%s says %s", call.Capability, chunk)
			return nil
		})
		if err == nil && answer.Status == client.Pending {
			say(c.out, "%s is pending", call.Capability)
			answer, err = c.agent.Wait(ctx, call, answer)
		}
		if _, refused := errors.AsType[*client.Refusal](err); refused {
			say(c.out, "%s is refused: %v", call.Capability, err)
			continue
		}
		if err != nil {
			return fmt.Errorf("execute %s: %w", call.Capability, err)
		}
		say(c.out, "%s: %s", call.Capability, answer.Data)
	}
	return nil
}

// escalate asks for what was not asked for at first.
func (c *course) escalate(ctx context.Context, _ string) error {
	wanted, names := c.more.wants()
	if len(wanted) == 0 {
		return nil
	}
	st, err := c.agent.Request(ctx, &client.Escalation{Capabilities: wanted, Reason: c.reason})
	if err != nil {
		return fmt.Errorf("ask for more: %w", err)
	}
	if st, err = c.await(ctx, st, names); err != nil {
		return err
	}
	c.printGrants(st)
	return c.execute(ctx, c.more)
}

// rotate gives the agent and then the host another key. Both go on under their ids.
func (c *course) rotate(ctx context.Context, _ string) error {
	public, next, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	if _, err := c.host.RotateAgent(ctx, c.agent.ID, public); err != nil {
		return fmt.Errorf("rotate the agent's key: %w", err)
	}
	_, hostKey, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	if c.host, err = c.host.Rotate(ctx, hostKey); err != nil {
		return fmt.Errorf("rotate the host's key: %w", err)
	}
	c.agent = c.host.Agent(c.agent.ID, next)
	st, err := c.agent.Status(ctx)
	if err != nil {
		return fmt.Errorf("ask by the new keys: %w", err)
	}
	say(c.out, "both have new keys, and the agent is %s", st.Status)
	if st, err = c.host.Reactivate(ctx, c.agent.ID); err != nil {
		return fmt.Errorf("reactivate: %w", err)
	}
	say(c.out, "it has not expired: reactivated, it is %s as before", st.Status)
	return nil
}

// end asks as a service whose a token is, revokes the agent, and sees that it has ended.
func (c *course) end(ctx context.Context, _ string) error {
	token, err := c.agent.Token("")
	if err != nil {
		return err
	}
	if c.credential != "" {
		found, err := c.server.Introspect(ctx, c.credential, token)
		if err != nil {
			return fmt.Errorf("introspect: %w", err)
		}
		say(c.out, "a service is told that the token is active: %v, of %s, with %d grants", found.Active, found.AgentID, len(found.Grants))
	}
	st, err := c.agent.Revoke(ctx)
	if err != nil {
		return fmt.Errorf("revoke: %w", err)
	}
	say(c.out, "the agent is %s", st.Status)
	if _, err = c.agent.Request(ctx, &client.Escalation{Capabilities: []client.Want{{Name: "more"}}}); err == nil {
		return errors.New("a revoked agent is still let in")
	}
	say(c.out, "it may do nothing any more: %v", err)
	return nil
}
