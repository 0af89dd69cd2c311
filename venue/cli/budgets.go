package cli

import (
	"slices"
	"strconv"
	"strings"

	"usher/tools/agents"
	"usher/tools/spend"
)

// budgetRows tells what an agent may spend, and what it has spent.
func budgetRows(info agents.Info) [][]string {
	var rows [][]string
	for _, b := range info.Budgets {
		label, of := b.For+" budget", []string(nil)
		if b.Of != "" {
			label = "budget of " + b.Of
		}
		if b.Spent != nil {
			of = amounts(spend.Limits(*b.Spent))
		}
		var parts []string
		for i, limit := range amounts(b.Limits) {
			kind := unit(i, limit)
			switch {
			case limit == "0", limit == "0.00":
				continue
			case of != nil:
				limit = of[i] + " of " + limit
			}
			parts = append(parts, limit+kind)
		}
		rows = append(rows, []string{label, strings.Join(parts, ", ")})
	}
	if info.Spent == (spend.Amount{}) {
		return rows
	}
	var parts []string
	for i, amount := range amounts(spend.Limits(info.Spent)) {
		if i == 2 && info.Spent.Money == 0 && !moneyLimited(info) {
			continue // no price is known, as a rule
		}
		parts = append(parts, amount+unit(i, amount))
	}
	return append(rows, []string{"spent", strings.Join(parts, ", ")})
}

// moneyLimited reports whether a budget of the agent limits money.
func moneyLimited(info agents.Info) bool {
	return slices.ContainsFunc(info.Budgets, func(b agents.Budget) bool { return b.Limits.Money != 0 })
}

// unit is what follows an amount of a kind.
func unit(kind int, amount string) string {
	text := [...]string{" calls", " tokens", " in money"}[kind]
	if amount == "1" {
		text = strings.TrimSuffix(text, "s")
	}
	return text
}

// amounts are calls, tokens and money in digits.
func amounts(l spend.Limits) []string {
	return []string{strconv.FormatInt(l.Calls, 10), strconv.FormatInt(l.Tokens, 10), l.Money.String()}
}
