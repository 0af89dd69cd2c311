package venue

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"usher/tools"
	"usher/tools/agents"
	"usher/tools/fault"
)

// BudgetRaiseError says that an agent tried to loosen a budget that is not its
// to loosen.
type BudgetRaiseError struct {
	Agent  string // whose budget
	Limit  string // for example "run.calls"
	Remove bool   // the agent was to be removed, and its budgets with it
}

func (e *BudgetRaiseError) Error() string {
	if e.Remove {
		return fmt.Sprintf("agent %s cannot be removed by you, as its %s would be gone with it: an agent cannot raise or remove a budget that binds it, "+
			"nor one that neither it nor an agent below it has set: end it without remove, or ask the owner", e.Agent, e.Limit)
	}
	return fmt.Sprintf("%s of agent %s can be lowered only: an agent cannot raise or remove a budget that binds it, "+
		"nor one that neither it nor an agent below it has set: ask the owner", e.Limit, e.Agent)
}

// Code is [fault.BudgetRaise].
func (e *BudgetRaiseError) Code() fault.Code { return fault.BudgetRaise }

// Details are the error's own fields.
func (e *BudgetRaiseError) Details() any { return e }

// setBudgets notes who set the budgets of next, which replaces old (nil for a
// new agent), and refuses that an agent gets out of one by writing it anew. The
// owner in person may loosen any; an agent, those that it or an agent below it
// has set, where they bind neither itself nor anyone on whose behalf it acts.
// Whoever lowers what another set does not become the one who set it.
func (s agentService) setBudgets(ctx context.Context, call tools.Call, key agentKey, old, next *record) error {
	self := string(call.Authority().Life())
	switch {
	case old != nil && old.budgets() == next.budgets():
		next.BudgetsBy = old.BudgetsBy
		return nil
	case next.Config.Budgets == nil || call.Actor() == "":
		next.BudgetsBy = "" // nobody, or the owner
	case old == nil || old.Config.Budgets == nil:
		next.BudgetsBy = self
	default:
		next.BudgetsBy = old.BudgetsBy
	}
	if old == nil {
		return nil
	}
	return s.mayLoosen(ctx, call, key, old, next.Config.Budgets)
}

// mayRemove refuses that an agent removes the record of one whose budgets it
// could not take away: it could make it again without.
func (s agentService) mayRemove(ctx context.Context, call tools.Call, key agentKey, rec *record) error {
	err := s.mayLoosen(ctx, call, key, rec, nil)
	if raise, ok := errors.AsType[*BudgetRaiseError](err); ok {
		raise.Remove = true
	}
	return err
}

// mayLoosen refuses that an agent replaces the budgets of old by next where
// they are not its to loosen.
func (s agentService) mayLoosen(ctx context.Context, call tools.Call, key agentKey, old *record, next *agents.Budgets) error {
	limit := next.Looser(old.Config.Budgets)
	if call.Actor() == "" || limit == "" {
		return nil
	}
	may, err := s.v.agents.hasSet(ctx, parseBound(string(call.Authority().Life())), parseBound(old.BudgetsBy))
	if err != nil {
		return err
	}
	for _, life := range call.Authority().Bound().Lives { // the actor's, and of those on whose behalf it acts
		binds, err := s.v.agents.isAbove(ctx, key, parseBound(string(life)).key)
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

// hasSet reports whether by, or an agent below it, is the very one that set a
// budget: whoever was made again under its id has set nothing.
func (b *agentBook) hasSet(ctx context.Context, by, setter bound) (bool, error) {
	seen := []bound{setter}
	for i := 0; i < len(seen); i++ {
		if seen[i] == by {
			return true, nil
		}
		at, err := b.get(ctx, seen[i].key)
		if err != nil {
			return false, err
		}
		if at == nil {
			continue
		}
		rec := at.rec.Load()
		if rec == nil || rec.Life != seen[i].life {
			continue
		}
		for _, name := range rec.Givers {
			if g := parseBound(name); !slices.Contains(seen, g) {
				seen = append(seen, g)
			}
		}
	}
	return false, nil
}

// isAbove reports whether the agent key has its capabilities from over, directly
// or not, or is the same. Nobody is above an agent that is not there.
func (b *agentBook) isAbove(ctx context.Context, over, key agentKey) (bool, error) {
	list, err := b.above(ctx, key)
	return slices.ContainsFunc(list, func(a *agent) bool { return a.key == over }), err
}
