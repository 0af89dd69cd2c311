package venue

import (
	"context"
	"fmt"
	"slices"

	"usher/tools"
)

// BudgetRaiseError says that an agent tried to loosen a budget that is not its
// to loosen.
type BudgetRaiseError struct {
	Agent string // whose budget
	Limit string // for example "run.calls"
}

func (e *BudgetRaiseError) Error() string {
	return fmt.Sprintf("%s of agent %s can be lowered only: an agent cannot raise or remove a budget that binds it, "+
		"nor one that neither it nor an agent below it has set: ask the owner", e.Limit, e.Agent)
}

// Code is "budget_raise_denied".
func (e *BudgetRaiseError) Code() string { return "budget_raise_denied" }

// setBudgets notes who set the budgets of next, which replaces old (nil for a
// new agent), and refuses that an agent gets out of one by writing it anew. The
// owner in person may loosen any; an agent, those that it or an agent below it
// has set, where they bind neither itself nor anyone on whose behalf it acts.
// Whoever lowers what another set does not become the one who set it.
func (s agentService) setBudgets(ctx context.Context, call tools.Call, key agentKey, old, next *record) error {
	by := call.Authority().Bounds() // the actor, and those on whose behalf it acts
	switch {
	case old != nil && old.budgets() == next.budgets():
		next.BudgetsBy = old.BudgetsBy
		return nil
	case next.Config.Budgets == nil || call.Actor() == "":
		next.BudgetsBy = "" // nobody, or the owner
	case old == nil || old.Config.Budgets == nil:
		next.BudgetsBy = by[0]
	default:
		next.BudgetsBy = old.BudgetsBy
	}
	if old == nil || call.Actor() == "" {
		return nil
	}
	limit := next.Config.Budgets.Looser(old.Config.Budgets)
	if limit == "" {
		return nil
	}
	may, err := s.v.agents.isAbove(ctx, parseBound(by[0]).key, parseBound(old.BudgetsBy).key)
	if err != nil {
		return err
	}
	for _, b := range by {
		binds, err := s.v.agents.isAbove(ctx, key, parseBound(b).key)
		if err != nil {
			return err
		}
		may = may && !binds
	}
	if !may {
		return &BudgetRaiseError{Agent: key.id, Limit: limit}
	}
	return nil
}

// isAbove reports whether the agent key has its capabilities from over, directly
// or not, or is the same. Nobody is above an agent that is not there.
func (b *agentBook) isAbove(ctx context.Context, over, key agentKey) (bool, error) {
	list, err := b.above(ctx, key)
	return slices.ContainsFunc(list, func(a *agent) bool { return a.key == over }), err
}
