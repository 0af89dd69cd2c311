package cli

import (
	"strconv"
	"strings"

	"usher/tools/agents"
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
			of = amounts(agents.Limits(*b.Spent))
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
	if info.Spent == (agents.Spent{}) {
		return rows
	}
	a := amounts(agents.Limits(info.Spent))
	return append(rows, []string{"spent", a[0] + unit(0, a[0]) + ", " + a[1] + unit(1, a[1]) + ", " + a[2] + unit(2, a[2])})
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
func amounts(l agents.Limits) []string {
	return []string{strconv.FormatInt(l.Calls, 10), strconv.FormatInt(l.Tokens, 10), l.Money.String()}
}
