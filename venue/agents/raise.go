package agents

import (
	"fmt"

	"usher/tools"
	"usher/tools/agents"
	"usher/tools/fault"
)

// budgetRaiseError says that an agent tried to loosen a budget, which is the
// owner's to do.
type budgetRaiseError struct {
	Agent string // whose budget
	Limit string // for example "run.calls"
}

func (e *budgetRaiseError) Error() string {
	return fmt.Sprintf("%s of agent %s can be lowered only: an agent cannot raise or remove a budget, nor remove an agent that has one: "+
		"end it without remove, or ask the owner", e.Limit, e.Agent)
}

// Code is [fault.BudgetRaise].
func (e *budgetRaiseError) Code() fault.Code { return fault.BudgetRaise }

// Details are the error's own fields.
func (e *budgetRaiseError) Details() any { return e }

// mayLoosen refuses that an agent replaces the budgets of old by looser ones, nil
// for none: the owner in person alone may.
func mayLoosen(call tools.Call, k key, old *record, next *agents.Budgets) error {
	if limit := next.Looser(old.Config.Budgets); call.Actor() != "" && limit != "" {
		return &budgetRaiseError{Agent: k.id, Limit: limit}
	}
	return nil
}
