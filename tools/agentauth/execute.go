package agentauth

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"time"

	"usher/caps"
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
func (g *guest) execute(ctx context.Context, in execution) (executed, error) {
	agent := g.agent()
	offer, err := agent.Describe(ctx, in.Capability)
	if err != nil {
		return executed{}, told(g.place, err)
	}
	if offer.Location != "" && !g.host.Has(offer.Location) {
		need := caps.Need("net/send", offer.Location)
		if err := need.Err(); err != nil {
			return executed{}, fault.New(fault.Refused, "the location of the capability is none that can be allowed: "+err.Error())
		}
		if denial := g.call.Check(need); denial != nil {
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
		return executed{}, done(g.place, err)
	}
	return outcome(g.place, answer), nil
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

func (g *guest) batch(ctx context.Context, in batch) (batched, error) {
	items, err := g.agent().Batch(ctx, in.Requests)
	if err != nil {
		return batched{}, done(g.place, err)
	}
	return batched{words(g.place), append([]client.Item{}, items...)}, nil
}

// poll asks once. What it asks lies at the server, or the caller may send there.
func (g *guest) poll(ctx context.Context, in poll) (executed, error) {
	if !g.host.Has(in.StatusURL) {
		return executed{}, fault.New(fault.Refused, "statusUrl does not lie at "+g.place.host+": give the one that agentauth:execute gave you")
	}
	answer, err := g.agent().Poll(ctx, &client.Call{Capability: in.Capability}, in.StatusURL)
	if err != nil {
		return executed{}, told(g.place, err)
	}
	if answer.Status == client.Pending {
		answer.StatusURL = in.StatusURL
	}
	return outcome(g.place, answer), nil
}
