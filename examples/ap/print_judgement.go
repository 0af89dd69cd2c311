package ap

import (
	"fmt"
	"strconv"

	"usher/runtime"
)

// judgement says how the model did the work, and what it used.
func (p *printer) judgement(j *judgement) {
	p.head("What the model " + j.Model + " made of the work")
	for _, i := range j.Invoices {
		if i.AsPolicy {
			p.line("   %s  %s %s", p.good("as the policy"), i.File, told(i.Outcome))
		} else {
			p.line("   %s     %s %s", p.bad("otherwise "), i.File, told(i.Why))
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
	p.rows(func(row func(...string)) {
		row("   agent", "model calls", "tokens in", "tokens out", "cost")
		var sum used
		sum.Agent = "(all)"
		for _, u := range j.Usage {
			sum.Calls, sum.Usage = sum.Calls+u.Calls, sum.Plus(u.Usage)
			usage(row, u)
		}
		usage(row, sum)
	})
}

func usage(row func(...string), u used) {
	row("   "+u.Agent, strconv.Itoa(u.Calls), strconv.Itoa(u.Input), strconv.Itoa(u.Output), cost(u.Usage))
}

// cost is in the unit of the configuration's prices, where there are any.
func cost(u runtime.Usage) string {
	if u.Cost == 0 {
		return "not known"
	}
	return fmt.Sprintf("%.4f", float64(u.Cost)/1e6)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}
