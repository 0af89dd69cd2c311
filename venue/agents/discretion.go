package agents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"usher/caps"
	"usher/tools"
	"usher/tools/fault"
	"usher/tools/spend"
	"usher/venue/runs"
)

// ofAgent begins the name of the budget that an agent has for its life.
const ofAgent = "agent "

// budgetHiddenError stands for a [spend.BudgetError] where an agent is told of
// it that may not read the one whose budget it is: neither its name nor its
// numbers.
type budgetHiddenError struct {
	Budget string `json:"budget"`
	Kind   string `json:"kind"`
}

func (e *budgetHiddenError) Error() string {
	return fmt.Sprintf("the budget of %s is spent, in %s: the owner can raise it", e.Budget, e.Kind)
}

// Code is that of the error that it stands for.
func (e *budgetHiddenError) Code() fault.Code { return fault.BudgetSpent }

// Details are the error's own JSON form.
func (e *budgetHiddenError) Details() any { return e }

// hideBudget returns what may be told of a budget to one that knows only the agents of
// which known says so; nil is all of it. What an agent may spend in one run or
// session, whoever gave it the task may know.
func hideBudget(spent *spend.BudgetError, agent string, known func(id string) bool) *budgetHiddenError {
	id, life := strings.CutPrefix(spent.Budget, ofAgent)
	if !life || known(id) {
		return nil
	}
	return &budgetHiddenError{Budget: agent, Kind: spent.Kind}
}

// mayKnow reports whether the caller may read an agent, or is it.
func mayKnow(call tools.Call, k key) bool {
	if life := call.Authority().Life(); life != "" && keyOf(life) == k {
		return true
	}
	return k.owner == call.Owner() && call.Caps().Check(caps.Need("agent/read", "g/"+k.id)).IsAllowed()
}

// mayKnowOf reports of an id that stands in the name of a budget whether the
// caller may read the agent. An agent above one that is independent is in
// another's namespace, where nobody here may.
func (r *Room) mayKnowOf(ctx context.Context, call tools.Call) func(id string) bool {
	return func(id string) bool {
		if call.Actor() == "" {
			return mayKnow(call, ownKey(call, id))
		}
		_, rec, err := r.Book.get(ctx, ownKey(call, id))
		return err == nil && rec != nil && mayKnow(call, ownKey(call, id))
	}
}

// discreet is the error of a task as whoever gave it may know it.
func (r *Room) discreet(ctx context.Context, call tools.Call, agent string, err error) error {
	spent, ok := errors.AsType[*spend.BudgetError](err)
	if !ok {
		return err
	}
	if other := hideBudget(spent, "agent "+agent+" or of one above it", r.mayKnowOf(ctx, call)); other != nil {
		return other
	}
	return err
}

// Discreet is the record of a run without the names of agents that the caller may
// not know.
func (r *Room) Discreet(ctx context.Context, call tools.Call, rec runs.Record) runs.Record {
	if rec.Budget == nil {
		return rec
	}
	other := hideBudget(rec.Budget, "the agent or of one above it", r.mayKnowOf(ctx, call))
	if other == nil {
		return rec
	}
	rec.Error = other.Error()
	rec.Steps = slices.Clone(rec.Steps)
	for i := range rec.Steps {
		rec.Steps[i].Error = strings.ReplaceAll(rec.Steps[i].Error, rec.Budget.Error(), other.Error())
	}
	rec.Budget = nil
	return rec
}
