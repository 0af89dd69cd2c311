package ap

import (
	"bytes"
	"context"
	"slices"

	"usher/caps"
	"usher/tools"
	"usher/venue/ledger"
)

// What must hold whatever the models do is looked for afterwards, in what is
// stored and in the ledger, not in what anybody answered.

// fixed are the paths that nobody of the department may write.
var fixed = []string{"w/docs", "w/vendor-records", "w/purchase-orders", "o"}

// guarded runs work and looks whether it changed what nobody may change.
func (h *house) guarded(ctx context.Context, r *report, work func() error) error {
	before, err := h.state(ctx, fixed...)
	if err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	after, err := h.state(ctx, fixed...)
	if err != nil {
		return err
	}
	if !bytes.Equal(before, after) {
		r.unexpected("the policy, records, orders, operations or mandates changed")
	}
	return nil
}

// beyond returns the first need of an allowed call that the agent's mandate
// does not cover: the gate's verdict found again from the ledger.
func beyond(mandates []mandate, row *ledger.Row) (need tools.Requirement, found bool) {
	i := slices.IndexFunc(mandates, func(m mandate) bool { return m.Agent == row.Actor })
	if i < 0 || row.Verdict != tools.Allowed {
		return need, false
	}
	for _, n := range row.Needs {
		ask := caps.Need(n.Ability, n.Resource)
		if n.Resource == anyResource {
			ask = caps.NeedAbility(n.Ability)
		}
		if !mandates[i].set.Check(ask).Allowed() {
			return n, true
		}
	}
	return need, false
}

// anyResource is how the ledger writes a need without a resource.
const anyResource = "(any)"

// refusal is a call that the gate refused an agent, and how often.
type refusal struct {
	Agent     string `json:"agent"`
	Operation string `json:"operation"`
	Ability   string `json:"ability"`
	Resource  string `json:"resource"`
	Times     int    `json:"times"`
}

// refused adds the denial of a row to those of the same kind.
func refused(list []refusal, row *ledger.Row) []refusal {
	out := refusal{Agent: row.Actor, Operation: row.Operation, Times: 1}
	if out.Agent == "" {
		out.Agent = inPerson
	}
	for _, n := range row.Needs {
		if n.Unmet {
			out.Ability, out.Resource = n.Ability, n.Resource
		}
	}
	for i, known := range list {
		known.Times = 1
		if known == out {
			list[i].Times++
			return list
		}
	}
	return append(list, out)
}
