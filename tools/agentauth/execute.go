package agentauth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"usher/caps"
	"usher/tools/agentauth/client"
	"usher/tools/fault"
)

// executeResult is what came of an execution.
type executeResult struct {
	From      string            `json:"from" jsonschema:"whose words these are"`
	Status    string            `json:"status" jsonschema:"completed or pending"`
	Data      json.RawMessage   `json:"data,omitempty" jsonschema:"the result"`
	Chunks    []json.RawMessage `json:"chunks,omitempty" jsonschema:"what a stream said before its end"`
	StatusURL string            `json:"statusUrl,omitempty" jsonschema:"for agentauth:poll of this capability, where it is pending"`
}

// batchResult are those of a batch.
type batchResult struct {
	From      string        `json:"from" jsonschema:"whose words these are"`
	Responses []client.Item `json:"responses"`
}

// patience is how long an execution that is pending is waited for.
const patience = 20 * time.Second

// execute executes a capability where the server says that it is. The caller is asked
// about, where that is another server: net/send there.
func (g *guest) execute(ctx context.Context, in execution) (executeResult, error) {
	agent := g.agent()
	offer, err := agent.Describe(ctx, in.Capability)
	if err != nil {
		return executeResult{}, explain(g.place, err)
	}
	if offer.Location != "" && !g.host.Has(offer.Location) {
		need := caps.Need("net/send", offer.Location)
		if err := need.Err(); err != nil {
			return executeResult{}, fault.New(fault.Refused, "the location of the capability is none that can be allowed: "+err.Error())
		}
		if denial := g.call.Check(need); denial != nil {
			return executeResult{}, denial
		}
	}
	do := &client.Call{Capability: in.Capability, Arguments: in.Arguments, Location: offer.Location, May: g.mayAsk}
	answer, err := agent.Execute(ctx, do, nil)
	if err == nil && answer.Status == client.Pending && answer.Pause < patience {
		waiting, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		answer, err = agent.Wait(waiting, do, answer)
		_, denied := errors.AsType[*caps.Denial](err)
		if denied || errors.Is(err, errStatus) || errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			err = nil // it goes on there
		}
	}
	if err != nil {
		return executeResult{}, effectError(g.place, err)
	}
	answer.StatusURL = g.statusName(in.Capability, answer.StatusURL)
	return outcome(g.place, answer), nil
}

// mayAsk is why the caller may not have an URL elsewhere asked how an execution stands.
func (g *guest) mayAsk(at string) error {
	u, err := url.Parse(at)
	if err != nil {
		return errStatus
	}
	u.RawQuery, u.Fragment = "", ""
	need := caps.Need("net/send", u.String())
	if err := need.Err(); err != nil {
		return errStatus
	}
	if denial := g.call.Check(need); denial != nil { // no nil of that type in an error
		return denial
	}
	return nil
}

var errStatus = fault.New(fault.Refused, "statusUrl is none that agentauth:execute gave you for this capability: give it as it was")

// statusName is the URL of the status of an execution as the caller knows it: with a name at its end
// that nobody else can make, for this caller and this capability. Who may execute one capability
// has no other address of the server asked by it.
func (g *guest) statusName(capability, at string) string {
	if at == "" {
		return ""
	}
	at, _, _ = strings.Cut(at, "#")
	mac := hmac.New(sha256.New, g.of.opts.Seed("Agent-Auth status"))
	for _, part := range []string{g.who, capability, at} {
		fmt.Fprintf(mac, "%d:%s", len(part), part)
	}
	return at + "#" + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

func outcome(p place, a *client.Answer) executeResult {
	return executeResult{words(p), a.Status, a.Data, a.Chunks, a.StatusURL}
}

// effectError is [explain] of a call that has effects: where its answer is lost, they are unknown.
func effectError(p place, err error) error {
	_, refused := errors.AsType[*client.Refusal](err)
	at, sending := errors.AsType[*net.OpError](err)
	if !refused && (!sending || at.Op != "dial") && fault.Of(err) == fault.Failed {
		return fault.New(fault.Unknown, err.Error()+": whether it took effect is unknown")
	}
	return explain(p, err)
}

func (g *guest) batch(ctx context.Context, in batch) (batchResult, error) {
	items, err := g.agent().Batch(ctx, in.Requests)
	if err != nil {
		return batchResult{}, effectError(g.place, err)
	}
	return batchResult{words(g.place), append([]client.Item{}, items...)}, nil
}

// poll asks once. What it asks lies at the server, which has named it.
func (g *guest) poll(ctx context.Context, in poll) (executeResult, error) {
	if !g.host.Has(in.StatusURL) {
		return executeResult{}, fault.New(fault.Refused, "statusUrl does not lie at "+g.place.host+": give the one that agentauth:execute gave you")
	}
	if !hmac.Equal([]byte(g.statusName(in.Capability, in.StatusURL)), []byte(in.StatusURL)) {
		return executeResult{}, errStatus
	}
	at, _, _ := strings.Cut(in.StatusURL, "#")
	answer, err := g.agent().Poll(ctx, &client.Call{Capability: in.Capability}, at)
	if err != nil {
		return executeResult{}, explain(g.place, err)
	}
	if answer.Status == client.Pending {
		answer.StatusURL = in.StatusURL
	}
	return outcome(g.place, answer), nil
}
