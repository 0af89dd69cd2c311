package a2a

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"usher/tools"
	"usher/tools/fault"
	"usher/tools/lending"
	"usher/ucan"
)

// loan is a capability at an agent elsewhere, and who may use it by its name.
type loan struct {
	id, revocation string // there
	agent          string // its URL
	owner          ucan.DID
	life           tools.Life
	run            string
	until          time.Time
}

// Bounds of what is known of capabilities elsewhere: whoever calls fills it.
const (
	maxLent   = 256 // of an owner's agents, at once
	maxOfOne  = maxLent / 4
	maxLentID = 256 // bytes
)

// loanView is a capability as its caller knows it.
type loanView struct {
	Name       string           `json:"name" jsonschema:"by which you use it, in this task alone"`
	Grant      string           `json:"grant"`
	Handles    []lending.Handle `json:"resourceHandles"`
	Operations []string         `json:"operations"`
	Expires    string           `json:"expires"`
}

// borrowAnswer answers request and attenuation.
type borrowAnswer struct {
	From         string     `json:"from" jsonschema:"whose words these are"`
	Capabilities []loanView `json:"capabilities"`
}

// keep keeps what was lent, and names it to its caller.
func (c *Clients) keep(call tools.Call, r *remote, raw json.RawMessage) (borrowAnswer, error) {
	out := borrowAnswer{From: r.words(), Capabilities: []loanView{}}
	var answer lending.Capabilities
	if err := json.Unmarshal(raw, &answer); err != nil {
		return out, fault.New(fault.Output, "the agent answers no capabilities")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now, life, n := c.now(), call.Authority().Life(), len(answer.Capabilities)
	own := n
	for name, l := range c.lent {
		switch {
		case now.After(l.until):
			delete(c.lent, name)
		case l.owner == call.Owner():
			if n++; l.life == life {
				own++
			}
		}
	}
	if life != "" && own > maxOfOne {
		return out, fault.New(fault.LimitReached, fmt.Sprintf("you have %d capabilities elsewhere, as many as one of your owner's agents may: revoke some (a2a:revoke)", maxOfOne))
	}
	if n > maxLent {
		return out, fault.New(fault.LimitReached, fmt.Sprintf("your agents have %d capabilities elsewhere, as many as they may: revoke some (a2a:revoke)", maxLent))
	}
	for _, got := range answer.Capabilities {
		if len(got.ID) > maxLentID || len(got.Revocation) > maxLentID {
			return borrowAnswer{}, fault.New(fault.Output, fmt.Sprintf("the agent answers a capability whose id has more than %d bytes", maxLentID))
		}
	}
	for _, got := range answer.Capabilities {
		end, err := time.Parse(time.RFC3339, got.Expires)
		if most := now.Add(24 * time.Hour); err != nil || end.After(most) {
			end = most
		}
		name := "lent_" + strings.ToLower(rand.Text())
		auth := call.Authority()
		c.lent[name] = &loan{strings.Clone(got.ID), strings.Clone(got.Revocation), r.name.String(), call.Owner(), life, auth.Run(), end}
		out.Capabilities = append(out.Capabilities, loanView{name, got.Grant, got.Handles, got.Operations, got.Expires})
	}
	return out, nil
}

// findLoan returns what was lent under a name, to whoever uses it in the task that it is for.
func (c *Clients) findLoan(call tools.Call, r *remote, name string) (*loan, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lent[name]
	auth := call.Authority()
	if l == nil || l.owner != call.Owner() || l.life != auth.Life() || l.run != auth.Run() || l.agent != r.name.String() || c.now().After(l.until) {
		return nil, fault.New(fault.NotFound, "you were lent nothing of that name by this agent for this task: ask by a2a:request")
	}
	return l, nil
}

// request asks for capabilities.
type request struct {
	agentAt
	Operations []string       `json:"operations,omitempty" jsonschema:"what you want to do, as its grants call it; grants are chosen by it, and attenuable ones first"`
	Grants     []string       `json:"grants,omitempty" jsonschema:"ids of grants, in place of operations"`
	Purpose    string         `json:"statedPurpose" jsonschema:"what for: the person who approves there reads it"`
	Query      *lending.Query `json:"resourceQuery,omitempty" jsonschema:"which things"`
	Expires    string         `json:"expires,omitempty" jsonschema:"when it shall end, as RFC 3339 has it: as soon as the task lets it"`
}

// grant is one of an extended card.
type grant struct {
	ID         string   `json:"id"`
	Operations []string `json:"operations"`
	Attenuable bool     `json:"attenuable"`
	Legacy     bool     `json:"legacy"`
}

// choose are the grants by which operations are allowed: of several that allow one, one that
// is attenuable before one that is not, and one that is legacy last.
func choose(list []grant, operations []string) (ids []string, err error) {
	rank := func(g *grant) int {
		switch {
		case g.Legacy:
			return 2
		case !g.Attenuable:
			return 1
		}
		return 0
	}
	for _, op := range operations {
		var best *grant
		for i := range list {
			g := &list[i]
			if (slices.Contains(g.Operations, op) || slices.Contains(g.Operations, "*")) && (best == nil || rank(g) < rank(best)) {
				best = g
			}
		}
		if best == nil {
			return nil, fault.New(fault.NotFound, fmt.Sprintf("no grant of the agent allows %q", op))
		}
		if !slices.Contains(ids, best.ID) {
			ids = append(ids, best.ID)
		}
	}
	return ids, nil
}

// grants are those that the agent has for the caller.
func (r *remote) grants(ctx context.Context) ([]grant, error) {
	raw, err := r.rpc(ctx, "GetExtendedAgentCard", map[string]any{}, true)
	if err != nil {
		return nil, err
	}
	var card struct {
		Capabilities struct {
			Extensions []struct {
				URI    string `json:"uri"`
				Params struct {
					Grants []grant `json:"capabilityGrants"`
				} `json:"params"`
			} `json:"extensions"`
		} `json:"capabilities"`
	}
	if err := json.Unmarshal(raw, &card); err != nil {
		return nil, fault.New(fault.Output, "the agent answers no card")
	}
	for _, e := range card.Capabilities.Extensions {
		if e.URI == lending.Extension {
			return e.Params.Grants, nil
		}
	}
	return nil, fault.New(fault.NotFound, "the agent lends nothing: its card does not have "+lending.Extension)
}

func (c *Clients) request(ctx context.Context, call tools.Call, in request) (borrowAnswer, error) {
	r, err := c.find(ctx, call, in.agentAt, canRequest)
	if err != nil {
		return borrowAnswer{}, err
	}
	ids := in.Grants
	if len(ids) == 0 {
		list, err := r.grants(ctx)
		if err != nil {
			return borrowAnswer{}, err
		}
		if ids, err = choose(list, in.Operations); err != nil {
			return borrowAnswer{}, err
		}
	}
	params := map[string]any{"grants": ids, "purpose": in.Purpose}
	if in.Query != nil {
		params["resourceQuery"] = in.Query
	}
	if in.Expires != "" {
		params["expires"] = in.Expires
	}
	raw, err := r.rpc(ctx, "a2a/capabilities/request", params, true)
	if err != nil {
		return borrowAnswer{}, effectError(err)
	}
	return c.keep(call, r, raw)
}

// attenuation asks for a part of a capability.
type attenuation struct {
	agentAt
	Capability  string              `json:"capability" jsonschema:"its name, as a2a:request gave it"`
	Constraints lending.Constraints `json:"constraints,omitzero" jsonschema:"what is left of it"`
}

func (c *Clients) attenuate(ctx context.Context, call tools.Call, in attenuation) (borrowAnswer, error) {
	r, err := c.find(ctx, call, in.agentAt, canRequest)
	if err != nil {
		return borrowAnswer{}, err
	}
	l, err := c.findLoan(call, r, in.Capability)
	if err != nil {
		return borrowAnswer{}, err
	}
	raw, err := r.rpc(ctx, "a2a/capabilities/attenuate", map[string]any{"capabilityId": l.id, "constraints": in.Constraints}, true)
	if err != nil {
		return borrowAnswer{}, effectError(err)
	}
	return c.keep(call, r, raw)
}

// revocation ends a capability.
type revocation struct {
	agentAt
	Capability string `json:"capability" jsonschema:"its name, as a2a:request gave it"`
}

func (c *Clients) revoke(ctx context.Context, call tools.Call, in revocation) (lending.RevokeResult, error) {
	var out lending.RevokeResult
	r, err := c.find(ctx, call, in.agentAt, canRequest)
	if err != nil {
		return out, err
	}
	l, err := c.findLoan(call, r, in.Capability)
	if err != nil {
		return out, err
	}
	if _, err := r.rpc(ctx, "a2a/capabilities/revoke", map[string]any{"revocationId": l.revocation}, true); err != nil {
		return out, effectError(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.lent, in.Capability)
	return lending.RevokeResult{RevocationID: in.Capability, Revoked: true}, nil
}
