package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/tools/agents"
	"usher/tools/spend"
)

func TestBudgetRows(t *testing.T) {
	limited := []agents.Budget{{For: "run", Limits: spend.Limits{Money: 500_000}}}
	for _, tc := range []struct {
		name string
		info agents.Info
		want [][]string
	}{
		{"nothing", agents.Info{}, nil},
		{"no price", agents.Info{Spent: spend.Amount{Calls: 1, Tokens: 20}}, [][]string{{"spent", "1 call, 20 tokens"}}},
		{
			"a price",
			agents.Info{Spent: spend.Amount{Calls: 2, Tokens: 20, Money: 10_000}},
			[][]string{{"spent", "2 calls, 20 tokens, 0.01 in money"}},
		},
		{
			"a limit of money, and none spent",
			agents.Info{Spent: spend.Amount{Calls: 2, Tokens: 20}, Budgets: limited},
			[][]string{{"run budget", "0.50 in money"}, {"spent", "2 calls, 20 tokens, 0.00 in money"}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, budgetRows(tc.info)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
