package agents

import (
	"context"
	"errors"
	"fmt"

	"usher/tools"
	"usher/tools/agents"
	"usher/tools/fault"
)

// budgetRaiseError says that an agent tried to loosen a budget that is not its
// to loosen.
type budgetRaiseError struct {
	Agent  string // whose budget
	Limit  string // for example "run.calls"
	Remove bool   // the agent was to be removed, and its budgets with it
}

func (e *budgetRaiseError) Error() string {
	if e.Remove {
		return fmt.Sprintf("agent %s cannot be removed by you, as its %s would be gone with it: an agent cannot raise or remove a budget that binds it, "+
			"nor one that neither it nor an agent below it has set: end it without remove, or ask the owner", e.Agent, e.Limit)
	}
	return fmt.Sprintf("%s of agent %s can be lowered only: an agent cannot raise or remove a budget that binds it, "+
		"nor one that neither it nor an agent below it has set: ask the owner", e.Limit, e.Agent)
}

// Code is [fault.BudgetRaise].
func (e *budgetRaiseError) Code() fault.Code { return fault.BudgetRaise }

// Details are the error's own fields.
func (e *budgetRaiseError) Details() any { return e }

// setBudgets notes who set the budgets of next, which replaces old (nil for a
// new agent), and refuses that an agent gets out of one by writing it anew. The
// owner in person may loosen any; an agent, those that it or an agent below it
// has set, where they bind neither itself nor anyone on whose behalf it acts.
// Whoever lowers what another set does not become the one who set it.
func (r *Room) setBudgets(ctx context.Context, call tools.Call, k key, old, next *record) error {
	self := call.Authority().Life()
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
	return r.mayLoosen(ctx, call, k, old, next.Config.Budgets)
}

// mayRemove refuses that an agent removes the record of one whose budgets it
// could not take away: it could make it again without.
func (r *Room) mayRemove(ctx context.Context, call tools.Call, k key, rec *record) error {
	err := r.mayLoosen(ctx, call, k, rec, nil)
	if raise, ok := errors.AsType[*budgetRaiseError](err); ok {
		raise.Remove = true
	}
	return err
}

// mayLoosen refuses that an agent replaces the budgets of old by next where
// they are not its to loosen.
func (r *Room) mayLoosen(ctx context.Context, call tools.Call, k key, old *record, next *agents.Budgets) error {
	limit := next.Looser(old.Config.Budgets)
	if call.Actor() == "" || limit == "" {
		return nil
	}
	may, err := r.Book.hasSet(ctx, call.Authority().Life(), old.BudgetsBy)
	if err != nil {
		return err
	}
	for _, life := range call.Authority().Bound().Lives { // the actor's, and of those on whose behalf it acts
		binds, err := r.Book.isAbove(ctx, k, keyOf(life))
		if err != nil {
			return err
		}
		may = may && !binds
	}
	if !may {
		return &budgetRaiseError{Agent: k.id, Limit: limit}
	}
	return nil
}
