package config

import (
	"usher/tools/agents"
	"usher/tools/spend"
)

var (
	budgetKeys = []string{"run", "session", "agent"}
	spendKeys  = []string{"calls", "tokens", "money"}
)

const (
	budgetsExample = "{run: {calls: 20, money: 0.50}}"
	spendExample   = "{calls: 20, money: 0.50}"
)

// budgets reads what an agent may spend; nil where nothing is written.
func (r *reader) budgets(o object, id string) *agents.Budgets {
	n := o.get("budgets")
	if n == nil {
		return nil
	}
	b, ok := r.object(n, "budgets", budgetKeys, budgetsExample)
	if !ok {
		return nil
	}
	r.place(n.at, "agent", id, "budgets")
	out := new(agents.Budgets)
	for _, name := range budgetKeys {
		limits := b.get(name)
		if limits == nil {
			continue
		}
		l, ok := r.object(limits, "the "+name+" budget", spendKeys, spendExample)
		if !ok {
			continue
		}
		r.place(limits.at, "agent", id, "budgets", name)
		if len(limits.fields) == 0 {
			r.add(limits.at, "the %s budget is empty: write for example %s: %s, or remove the key", name, name, spendExample)
		}
		for _, kind := range spendKeys {
			if n := l.get(kind); n != nil {
				l.spend(kind, n, out.Named(name))
			}
		}
	}
	return out
}

// spend reads one limit. Its number is taken as it is written, so that money is
// exact.
func (o object) spend(kind string, n *node, into *spend.Limits) {
	want, example := "a whole number above 0", "20"
	if kind == "money" {
		want, example = "an amount above 0", "0.50"
	}
	if n.kind != number {
		o.wrong(kind, n, want, example)
		return
	}
	if err := into.SetText(kind, n.text); err != nil {
		o.problems.add(n.at, "%v", err)
	}
}
