package cli

import (
	"fmt"
	"strings"

	"usher/tools/agents"
	"usher/tools/spend"
)

// budgetRows tells what an agent may spend, and what it has spent.
func budgetRows(info agents.Info) (rows [][]string) {
	priced := info.Spent.Money != 0 // no price is known, as a rule
	for _, b := range info.Budgets {
		priced = priced || b.Limits.Money != 0
		label := b.For + " budget"
		if b.Of != "" {
			label = "budget of " + b.Of
		}
		var parts []string
		limits := amounts(b.Limits)
		for i, limit := range limits {
			if set := [...]bool{b.Limits.Calls != 0, b.Limits.Tokens != 0, b.Limits.Money != 0}[i]; !set {
				continue
			}
			if b.Spent != nil {
				of, _, _ := strings.Cut(amounts(spend.Limits(*b.Spent))[i], " ")
				limit = of + " of " + limit
			}
			parts = append(parts, limit)
		}
		rows = append(rows, []string{label, strings.Join(parts, ", ")})
	}
	if info.Spent == (spend.Amount{}) {
		return rows
	}
	spent := amounts(spend.Limits(info.Spent))
	if !priced {
		spent = spent[:2]
	}
	return append(rows, []string{"spent", strings.Join(spent, ", ")})
}

// amounts are calls, tokens and money, for people.
func amounts(l spend.Limits) []string {
	count := func(n int64, noun string) string {
		if n != 1 {
			noun += "s"
		}
		return fmt.Sprint(n, " ", noun)
	}
	return []string{count(l.Calls, "call"), count(l.Tokens, "token"), l.Money.String() + " in money"}
}
