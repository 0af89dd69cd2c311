package spend

import (
	"encoding/json"
	"fmt"
	"strings"

	"usher/tools/fault"
)

// BudgetError says that a budget admits no further call. Trying again is
// useless until the budget is raised, or a call that holds a part of it ends.
// Money is in units, as the limits are written.
type BudgetError struct {
	Budget string      `json:"budget"`
	Kind   string      `json:"kind"` // "calls", "tokens" or "money"
	Spent  json.Number `json:"spent"`
	Held   json.Number `json:"held,omitempty"` // by calls that run now; empty for nothing
	Limit  json.Number `json:"limit"`
}

func (e *BudgetError) Error() string {
	kind := e.Kind
	if e.Limit == "1" {
		kind = strings.TrimSuffix(kind, "s")
	}
	text := fmt.Sprintf("budget %q is spent: %s of %s %s", e.Budget, e.Spent, e.Limit, kind)
	if e.Held != "" {
		text += fmt.Sprintf(", and %s held by calls that run now: try again when they have ended", e.Held)
	}
	return text + ": the owner can raise it"
}

// IsNoCall is true: no model was asked.
func (e *BudgetError) IsNoCall() bool { return true }

// Code is [fault.BudgetSpent].
func (e *BudgetError) Code() fault.Code { return fault.BudgetSpent }

// Details are the error itself.
func (e *BudgetError) Details() any { return e }

// PriceError says that a budget which limits money has no price for a model.
// The call is refused: what cannot be counted cannot be bounded.
type PriceError struct {
	Budget string `json:"budget"`
	Model  string `json:"model"`
}

func (e *PriceError) Error() string {
	return fmt.Sprintf("budget %q limits money, and model %q has no price: add price to the model", e.Budget, e.Model)
}

// IsNoCall is true: no model was asked.
func (e *PriceError) IsNoCall() bool { return true }

// Code is [fault.NoPrice].
func (e *PriceError) Code() fault.Code { return fault.NoPrice }

// Details are the error itself.
func (e *PriceError) Details() any { return e }
