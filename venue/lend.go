package venue

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"

	"usher/caps"
	"usher/tools/lending"
)

// Lend returns the principal as it gives an agent one task, for which it hands on parts of
// capabilities that it was lent: what the agent does in it is bounded by those parts,
// whatever it is told. attenuations narrow them further, by the capabilities' ids. An agent
// that acts by an authority of its own is lent nothing, as nothing of the principal's would
// bound it.
func (p *Principal) Lend(ctx context.Context, agent string, ids []string, attenuations map[string]lending.Constraints) (*Principal, []lending.Capability, error) {
	if p.agents.IsOwn(ctx, p.DID(), agent) {
		return nil, nil, &lending.Error{Reason: lending.Operation, Text: "the agent acts by an authority of its own, which a capability would not bound"}
	}
	for id := range attenuations {
		if !slices.Contains(ids, id) {
			return nil, nil, &lending.Error{Reason: lending.Params, Text: "attenuations name a capability that is not handed on"}
		}
	}
	if len(ids) > maxLentAtOnce {
		return nil, nil, &lending.Error{Reason: lending.Params, Text: fmt.Sprintf("%d capabilities are handed on, at most %d", len(ids), maxLentAtOnce)}
	}
	task := "lent " + rand.Text()
	may := []caps.Capability{caps.MustCapability("g/"+agent, "agent/request")}
	var lent []lending.Capability
	for _, id := range ids {
		raw, err := p.Invoke(ctx, "capability:attenuate", lending.Attenuate{CapabilityID: id, Constraints: attenuations[id], Agent: agent, Task: task})
		if err != nil {
			return nil, nil, err
		}
		var made lending.Capabilities
		if err := json.Unmarshal(raw, &made); err != nil {
			return nil, nil, err
		}
		for _, c := range made.Capabilities {
			for _, h := range c.Handles {
				may = append(may, caps.MustCapability(lending.At(h.Handle), lending.CanUse))
			}
			lent = append(lent, c)
		}
	}
	return p.Narrow(caps.Of(may...)).WithName(task), lent, nil
}

// maxLentAtOnce is how many capabilities go with one task.
const maxLentAtOnce = 4
