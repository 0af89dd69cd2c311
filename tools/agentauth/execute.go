package agentauth

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"time"

	"usher/caps"
	"usher/tools"
	"usher/tools/agentauth/client"
	"usher/tools/fault"
)

// executed is what came of an execution.
type executed struct {
	From      string            `json:"from" jsonschema:"whose words these are"`
	Status    string            `json:"status" jsonschema:"completed or pending"`
	Data      json.RawMessage   `json:"data,omitempty" jsonschema:"the result"`
	Chunks    []json.RawMessage `json:"chunks,omitempty" jsonschema:"what a stream said before its end"`
	StatusURL string            `json:"statusUrl,omitempty" jsonschema:"for agentauth:poll, where it is pending"`
}

// batched are those of a batch.
type batched struct {
	From      string        `json:"from" jsonschema:"whose words these are"`
	Responses []client.Item `json:"responses"`
}

// patience is how long an execution that is pending is waited for.
const patience = 20 * time.Second

// execute executes a capability where the server says that it is. The caller is asked
// about, where that is another server: net/send there.
func (c *Clients) execute(ctx context.Context, call tools.Call, in execution) (executed, error) {
	p, g, agent, err := c.at(ctx, call, in.Server)
	if err != nil {
		return executed{}, err
	}
	offer, err := agent.Describe(ctx, in.Capability)
	if err != nil {
		return executed{}, told(p, err)
	}
	if offer.Location != "" && !g.host.Has(offer.Location) {
		need := caps.Need("net/send", offer.Location)
		if err := need.Err(); err != nil {
			return executed{}, fault.New(fault.Refused, "the location of the capability is none that can be allowed: "+err.Error())
		}
		if denial := call.Check(need); denial != nil {
			return executed{}, denial
		}
	}
	do := &client.Call{Capability: in.Capability, Arguments: in.Arguments, Location: offer.Location}
	answer, err := agent.Execute(ctx, do, nil)
	if err == nil && answer.Status == client.Pending {
		waiting, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if answer, err = agent.Wait(waiting, do, answer); errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			err = nil
		}
	}
	if err != nil {
		return executed{}, done(p, err)
	}
	return outcome(p, answer), nil
}

func outcome(p place, a *client.Answer) executed {
	return executed{words(p), a.Status, a.Data, a.Chunks, a.StatusURL}
}

// done is [told] of a call that has effects: where its answer is lost, they are unknown.
func done(p place, err error) error {
	_, refused := errors.AsType[*client.Refusal](err)
	at, sending := errors.AsType[*net.OpError](err)
	if !refused && (!sending || at.Op != "dial") && fault.Of(err) == fault.Failed {
		return fault.New(fault.Unknown, err.Error()+": whether it took effect is unknown")
	}
	return told(p, err)
}

func (c *Clients) batch(ctx context.Context, call tools.Call, in batch) (batched, error) {
	p, _, agent, err := c.at(ctx, call, in.Server)
	if err != nil {
		return batched{}, err
	}
	calls := make([]client.Call, len(in.Requests))
	for i, r := range in.Requests {
		calls[i] = client.Call{ID: r.ID, Capability: r.Capability, Arguments: r.Arguments}
	}
	items, err := agent.Batch(ctx, calls)
	if err != nil {
		return batched{}, done(p, err)
	}
	return batched{words(p), append([]client.Item{}, items...)}, nil
}

// poll asks once. What it asks lies at the server, or the caller may send there.
func (c *Clients) poll(ctx context.Context, call tools.Call, in poll) (executed, error) {
	p, g, agent, err := c.at(ctx, call, in.Server)
	if err != nil {
		return executed{}, err
	}
	if !g.host.Has(in.StatusURL) {
		return executed{}, fault.New(fault.Refused, "statusUrl does not lie at "+p.host+": give the one that agentauth:execute gave you")
	}
	answer, err := agent.Poll(ctx, &client.Call{Capability: in.Capability}, in.StatusURL)
	if err != nil {
		return executed{}, told(p, err)
	}
	if answer.Status == client.Pending {
		answer.StatusURL = in.StatusURL
	}
	return outcome(p, answer), nil
}
