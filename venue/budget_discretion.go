package venue

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
	return fmt.Sprintf("the budget of %s is spent, in %s: whoever set it can raise it", e.Budget, e.Kind)
}

// Code is that of the error that it stands for.
func (e *budgetHiddenError) Code() fault.Code { return fault.BudgetSpent }

// Details are the error's own JSON form.
func (e *budgetHiddenError) Details() any { return e }

// hidden is what may be told of a budget to one that knows only the agents of
// which known says so; nil is all of it. What an agent may spend in one run or
// session, whoever gave it the task may know.
func hidden(spent *spend.BudgetError, agent string, known func(id string) bool) *budgetHiddenError {
	id, life := strings.CutPrefix(spent.Budget, ofAgent)
	if !life || known(id) {
		return nil
	}
	return &budgetHiddenError{Budget: agent, Kind: spent.Kind}
}

// mayKnow reports whether the caller may read an agent, or is it.
func mayKnow(call tools.Call, key agentKey) bool {
	if life := call.Authority().Life(); life != "" && parseBound(string(life)).key == key {
		return true
	}
	return key.owner == call.Owner() && call.Caps().Check(caps.Need("agent/read", "g/"+key.id)).Allowed()
}

// mayKnowOf reports of an id that stands in the name of a budget whether the
// caller may read the agent. An agent above one that is independent is in
// another's namespace, where nobody here may.
func (v *Venue) mayKnowOf(ctx context.Context, call tools.Call) func(id string) bool {
	return func(id string) bool {
		if call.Actor() == "" {
			return mayKnow(call, keyOf(call, id))
		}
		a, err := v.agents.get(ctx, keyOf(call, id))
		return err == nil && a != nil && mayKnow(call, a.key)
	}
}

// discreet is the error of a task as whoever gave it may know it.
func (v *Venue) discreet(ctx context.Context, call tools.Call, agent string, err error) error {
	spent, ok := errors.AsType[*spend.BudgetError](err)
	if !ok {
		return err
	}
	if other := hidden(spent, "agent "+agent+" or of one above it", v.mayKnowOf(ctx, call)); other != nil {
		return other
	}
	return err
}

// discreetJob is a record without the names of agents that known does not admit.
func discreetJob(j Job, known func(id string) bool) Job {
	if j.Budget == nil {
		return j
	}
	other := hidden(j.Budget, "the agent or of one above it", known)
	if other == nil {
		return j
	}
	j.Error = other.Error()
	j.Steps = slices.Clone(j.Steps)
	for i := range j.Steps {
		j.Steps[i].Error = strings.ReplaceAll(j.Steps[i].Error, j.Budget.Error(), other.Error())
	}
	j.Budget = nil
	return j
}
