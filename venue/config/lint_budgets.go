package config

import (
	"cmp"
	"strconv"

	"usher/tools/agents"
)

// budgetsOf finds budgets in money that would refuse every call, since a model
// has no price.
func (l *linter) budgetsOf(a *agents.Spec) {
	limit, at := l.moneyLimit(a)
	if limit == "" {
		return
	}
	model := l.unpriced(cmp.Or(a.Model, "default"), map[string]bool{})
	if model == "" {
		return
	}
	l.report(LevelError, at, "agent "+a.ID,
		limit+" limits money, and the model "+strconv.Quote(model)+" has no price, so each call of it is refused",
		"add price: {input: 2.50, output: 10} to the model, for a million tokens, or limit calls or tokens instead")
}

// moneyLimit names a budget in money that binds the agent: its own, or that of
// an agent above it.
func (l *linter) moneyLimit(a *agents.Spec) (string, place) {
	if a.Budgets != nil {
		for _, name := range [...]string{"run", "session", "agent"} {
			if a.Budgets.Named(name).Money != 0 {
				return "its " + name + " budget", l.config.at("agent", a.ID, "budgets", name)
			}
		}
	}
	for _, above := range l.lineage(a.ID)[1:] {
		if above != nil && above.Budgets != nil && above.Budgets.Agent.Money != 0 {
			return "the budget of its parent " + above.ID, l.config.at("agent", a.ID, "parent")
		}
	}
	return "", place{}
}

// unpriced finds a model without a price: the one of the name, or one that it
// falls back on. One that replays a cassette costs nothing.
func (l *linter) unpriced(name string, seen map[string]bool) string {
	m, ok := l.config.Models[name]
	if !ok || seen[name] {
		return "" // what is not there is reported where it is named
	}
	seen[name] = true
	if m.Settings["replay"] != nil {
		return ""
	}
	if m.Settings["price"] == nil {
		return name
	}
	others, _ := m.Settings["fallback"].([]any)
	if one, ok := m.Settings["fallback"].(string); ok {
		others = []any{one}
	}
	for _, other := range others {
		if other, ok := other.(string); ok {
			if found := l.unpriced(other, seen); found != "" {
				return found
			}
		}
	}
	return ""
}
