package ap

import (
	"fmt"
	"strconv"
	"strings"
)

// judgement says how the model did the work until its end, or until it failed,
// and what it used. The failure itself is the demo's error, and told there.
func (p *printer) judgement(j *judgement, stopped *failure) {
	p.head("What the model " + j.Model + " made of the work")
	for _, i := range j.Invoices {
		why := i.Why
		if strings.HasPrefix(why, noDecision) {
			why = noDecision // the reason stands with the decisions
		}
		if i.AsPolicy {
			p.line("   %s  %s %s", p.good("as the policy"), i.File, told(i.Outcome))
		} else {
			p.line("   %s     %s %s", p.bad("otherwise "), i.File, told(why))
		}
	}
	for _, problem := range j.Problems {
		p.line("   %s        %s", p.bad("problem"), told(problem))
	}
	if n := len(j.Invoices); n > 0 {
		p.line("   %d of %d as the policy demands. How a model judges is its own; what it can do is the gate's.", j.AsPolicy, n)
	}
	for _, d := range j.Denied {
		p.line("   %s         %s, %s on %s: %s, %s", p.bad("denied"), d.Agent, d.Ability, d.Resource, d.Operation, times(d.Times))
	}
	if stopped != nil {
		p.line("   %s        at %s, where the model failed", p.bad("stopped"), told(stopped.At))
	}
	p.rows(func(row func(...string)) {
		row("   agent", "model calls", "tokens in", "tokens out", "cost")
		sum := used{Agent: "(all)"}
		for _, u := range j.Usage {
			sum = sum.plus(u)
			usage(row, u)
		}
		usage(row, sum)
	})
}

func usage(row func(...string), u used) {
	row("   "+u.Agent, strconv.Itoa(u.Calls),
		known(strconv.Itoa(u.Input), u.Input != 0, u.Uncounted), known(strconv.Itoa(u.Output), u.Output != 0, u.Uncounted),
		known(cost(u.Cost), u.Cost != 0, u.Unpriced))
}

// known is a sum that lacks what some calls did not say.
func known(sum string, some bool, lacking int) string {
	switch {
	case lacking == 0:
		return sum
	case some:
		return "at least " + sum
	}
	return "not known"
}

// cost is in the unit of the configuration's prices.
func cost(micros int64) string {
	text := fmt.Sprintf("%d.%06d", micros/1e6, micros%1e6)
	for strings.HasSuffix(text, "0") && len(text)-strings.IndexByte(text, '.') > len(".0000") {
		text = strings.TrimSuffix(text, "0")
	}
	return strings.TrimSuffix(text, ".0000")
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}
