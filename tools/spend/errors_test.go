package spend_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/tools/spend"
)

// A budget that is spent says so in the units of its limits, and is read again as
// it was written.
func TestBudgetErrorIsTold(t *testing.T) {
	for _, tc := range []struct {
		name       string
		limits     spend.Limits
		spent      spend.Amount
		running    bool // another call, which holds what it may cost
		text, json string
	}{
		{
			"run of boss",
			spend.Limits{Money: 500_000},
			spend.Amount{Money: 502_500},
			false,
			`budget "run of boss" is spent: 0.5025 of 0.50 money: the owner can raise it`,
			`{"budget":"run of boss","kind":"money","spent":0.5025,"limit":0.50}`,
		},
		{
			"b",
			spend.Limits{Tokens: 10_000},
			spend.Amount{Tokens: 7},
			true,
			`budget "b" is spent: 7 of 10000 tokens, and 10000 held by calls that run now: try again when they have ended: the owner can raise it`,
			`{"budget":"b","kind":"tokens","spent":7,"held":10000,"limit":10000}`,
		},
		{
			"b",
			spend.Limits{Calls: 1},
			spend.Amount{Calls: 1},
			false,
			`budget "b" is spent: 1 of 1 call: the owner can raise it`,
			`{"budget":"b","kind":"calls","spent":1,"limit":1}`,
		},
	} {
		budgets := []*spend.Budget{spend.NewAccount("", tc.name, tc.limits, tc.spent)}
		call := spend.Call{Price: new(spend.Price)}
		if tc.running {
			if _, err := spend.Take(t.Context(), budgets, call); err != nil {
				t.Fatal(err)
			}
		}
		_, err := spend.Take(t.Context(), budgets, call)
		spent, ok := errors.AsType[*spend.BudgetError](err)
		if !ok {
			t.Fatalf("%s: %v", tc.name, err)
		}
		raw, err := json.Marshal(spent)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{tc.text, tc.json}, []string{spent.Error(), string(raw)}); diff != "" {
			t.Errorf("text and JSON (-want +got):\n%s", diff)
		}
		var again spend.BudgetError
		if err := json.Unmarshal(raw, &again); err != nil || again != *spent {
			t.Errorf("%s is read as %+v, %v", raw, again, err)
		}
	}
}
