package spend

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"usher/tools/fault"
)

// BudgetError says that a budget admits no further call. Trying again is
// useless until the budget is raised, or a call that holds a part of it ends.
//
// In JSON, money is a decimal number in units, as the text and the limits are
// written: who reads both, such as a model, need not know of millionths.
type BudgetError struct {
	Budget string
	Kind   string // "calls", "tokens" or "money", which is in micro-units
	Spent  int64
	Held   int64 // by calls that run now
	Limit  int64
}

func (e *BudgetError) Error() string {
	kind := e.Kind
	if e.Limit == 1 {
		kind = strings.TrimSuffix(kind, "s")
	}
	text := fmt.Sprintf("budget %q is spent: %s of %s %s", e.Budget, e.show(e.Spent), e.show(e.Limit), kind)
	if e.Held > 0 {
		text += fmt.Sprintf(", and %s held by calls that run now: try again when they have ended", e.show(e.Held))
	}
	return text + ": the owner can raise it"
}

// show is an amount of the budget's kind.
func (e *BudgetError) show(n int64) string {
	if e.Kind == kindMoney {
		return Money(n).String()
	}
	return strconv.FormatInt(n, 10)
}

// Unasked is true: no model was asked.
func (e *BudgetError) Unasked() bool { return true }

// Code is [fault.BudgetSpent].
func (e *BudgetError) Code() fault.Code { return fault.BudgetSpent }

// Details are the error's own JSON form.
func (e *BudgetError) Details() any { return e }

// writtenBudgetError is the JSON form.
type writtenBudgetError struct {
	Budget string      `json:"budget"`
	Kind   string      `json:"kind"`
	Spent  json.Number `json:"spent"`
	Held   json.Number `json:"held,omitempty"`
	Limit  json.Number `json:"limit"`
}

// MarshalJSON writes money in units.
func (e *BudgetError) MarshalJSON() ([]byte, error) {
	out := writtenBudgetError{e.Budget, e.Kind, json.Number(e.show(e.Spent)), "", json.Number(e.show(e.Limit))}
	if e.Held > 0 {
		out.Held = json.Number(e.show(e.Held))
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes, digit by digit and so exactly.
func (e *BudgetError) UnmarshalJSON(data []byte) error {
	var in writtenBudgetError
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	out := BudgetError{Budget: in.Budget, Kind: in.Kind}
	for _, amount := range []struct {
		text json.Number
		to   *int64
	}{{in.Spent, &out.Spent}, {in.Held, &out.Held}, {in.Limit, &out.Limit}} {
		if amount.text == "" {
			continue // nothing is held
		}
		var err error
		if in.Kind == kindMoney {
			err = (*Money)(amount.to).UnmarshalJSON([]byte(amount.text))
		} else {
			*amount.to, err = amount.text.Int64()
		}
		if err != nil {
			return fmt.Errorf("budget error: %w", err)
		}
	}
	*e = out
	return nil
}
