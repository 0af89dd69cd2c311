package ap

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"usher/caps/value"
	"usher/tools/spend"
)

// Decisions of the approver.
const (
	approved  = "APPROVED"
	escalated = "ESCALATED"
	rejected  = "REJECTED"
)

// decision is a record below w/decisions/.
type decision struct {
	Invoice       string `json:"invoice"`
	Vendor        string `json:"vendor"`
	Total         money  `json:"total"`
	Currency      string `json:"currency"`
	PurchaseOrder string `json:"purchaseOrder"`
	Decision      string `json:"decision"`
	EscalateTo    string `json:"escalateTo"` // empty where nobody is asked
	Rules         []rule `json:"rules"`
	Reason        string `json:"reason"`
	Recorded      bool   `json:"recorded"`
	Record        string `json:"record"` // path of the decision
}

// rule is how one rule of the policy came out.
type rule struct {
	Rule   string `json:"rule"`
	Passed bool   `json:"passed"`
	Detail string `json:"detail"`
}

// approve is the approver: it applies the policy to an invoice and what is
// known about it, records its decision, and answers it.
func approve(t *turn) any {
	var task struct {
		Extraction invoice
		Enrichment enrichment
	}
	if err := json.Unmarshal([]byte(t.task), &task); err != nil || task.Enrichment.RecordID == "" {
		return decision{
			Decision: rejected, Rules: []rule{},
			Reason: `The task is incomplete: send {"extraction": …, "enrichment": …} as the scanner and the enricher make them.`,
		}
	}
	var spent money
	var problem string
	if o := task.Enrichment.Order; o != nil {
		var past []entry[decision]
		past, problem = all[decision](t, "w/decisions")
		for _, e := range past {
			if d := e.Value; sameOrder(d.PurchaseOrder, o.ID) && d.Decision != rejected {
				spent += d.Total
			}
		}
	}
	d := judge(t.system, &task.Extraction, &task.Enrichment, spent, problem)
	d.Record = "w/decisions/" + task.Enrichment.RecordID
	d.Recorded = true // as it stands in the record
	if _, problem := call[any](t, "covia_write", object{"path": d.Record, "value": d}); problem != "" {
		// A decision that is not recorded does not count, whatever it was.
		d.Recorded, d.Decision, d.EscalateTo = false, rejected, ""
		d.Reason = "The decision could not be recorded, so nothing is approved: " + problem
	}
	return d
}

// policy is what the approver reads in the policy document of its context. The
// numbers and the name stand there and nowhere in this program.
type policy struct {
	alone         money // below it nobody is asked
	manager       money // up to it the order's manager is
	vicePresident string
}

var amountRule = value.Form(`AP-001 .*?[Bb]elow (\d[\d,.]*).*? [Aa]bove (\d[\d,.]*) the vice president, ([^,]+), decides.*AP-002`)

// readPolicy finds the policy's numbers in the system message.
func readPolicy(system string) (p policy, err error) {
	m := amountRule().FindStringSubmatch(strings.Join(strings.Fields(system), " "))
	if m == nil {
		return p, errors.New("rule AP-001 in my context names no two thresholds and no vice president")
	}
	p.vicePresident = m[3]
	for i, to := range []*money{&p.alone, &p.manager} {
		if *to, err = spend.ParseMoney(strings.ReplaceAll(strings.TrimRight(m[i+1], ".,"), ",", "")); err != nil {
			return p, err
		}
	}
	if p.alone > p.manager {
		err = errors.New("the thresholds of rule AP-001 are the wrong way round")
	}
	return p, err
}

// judge applies the six rules. spent is what was decided before on the order, and
// problem why that is not known.
func judge(system string, inv *invoice, en *enrichment, spent money, problem string) decision {
	d := decision{
		Invoice: inv.Number, Vendor: inv.Vendor, Total: inv.Total, Currency: inv.Currency, PurchaseOrder: inv.PurchaseOrder,
		Decision: rejected, Rules: []rule{},
	}
	p, err := readPolicy(system)
	if err != nil {
		d.Reason = "The policy cannot be applied: " + err.Error() + "."
		return d
	}
	check := func(passed bool, detail string, args ...any) {
		d.Rules = append(d.Rules, rule{fmt.Sprintf("AP-%03d", len(d.Rules)+1), passed, fmt.Sprintf(detail, args...)})
	}
	v, o := cmp.Or(en.Vendor, &vendor{}), cmp.Or(en.Order, &order{})
	d.PurchaseOrder = cmp.Or(o.ID, d.PurchaseOrder)
	to := ""
	switch {
	case inv.Total < p.alone:
		check(true, "%s is below %s", inv.Total, p.alone)
	case inv.Total <= p.manager:
		to = cmp.Or(o.Manager, "the manager of the order")
		check(false, "%s is between %s and %s: %s decides", inv.Total, p.alone, p.manager, to)
	default:
		to = p.vicePresident + " (VP)"
		check(false, "%s is above %s: %s decides", inv.Total, p.manager, to)
	}
	name := cmp.Or(v.Name, inv.Vendor)
	check(v.Sanctions == "CLEAR", "the sanctions check of %s says %s%s", name, cmp.Or(v.Sanctions, "nothing"), noteLine(v.Note))
	check(v.Status == "ACTIVE", "%s is %s", name, cmp.Or(v.Status, "not on record"))
	switch {
	case !en.Searched:
		check(false, "earlier invoices could not be looked up")
	case len(en.Earlier) > 0:
		check(false, "came before as w/invoices/%s", en.Earlier[0].RecordID)
	default:
		check(true, "first invoice of this number")
	}
	check(v.Name != "" && fold(o.Vendor) == fold(v.Name) && o.Status == "OPEN" && inv.Currency == o.Currency, "order %s is %s", cmp.Or(d.PurchaseOrder, "(none)"), statement(o, inv))
	switch {
	case problem != "":
		check(false, "%s", problem)
	case en.Order == nil:
		check(false, "no order to compare with")
	case inv.Total <= 0:
		check(false, "the total is not positive")
	default:
		check(spent+inv.Total <= o.Amount, "%s, with %s decided before, of the order's %s", inv.Total, spent, o.Amount)
	}
	d.decide(to, en.Problems)
	return d
}

// statement is what an order says of the things that are compared.
func statement(o *order, inv *invoice) string {
	if o.ID == "" {
		return "not on record"
	}
	return fmt.Sprintf("%s, made out to %s in %s; the invoice is in %s", o.Status, o.Vendor, o.Currency, cmp.Or(inv.Currency, "no currency"))
}

// decide draws the conclusion from the rules. The first asks somebody, the others
// refuse.
func (d *decision) decide(escalateTo string, problems []string) {
	var failed []string
	for _, r := range d.Rules[1:] {
		if !r.Passed {
			failed = append(failed, r.Rule+": "+r.Detail)
		}
	}
	switch {
	case failed != nil:
		d.Reason = strings.Join(append(failed, problems...), "; ")
	case escalateTo != "":
		d.Decision, d.EscalateTo, d.Reason = escalated, escalateTo, d.Rules[0].Rule+": "+d.Rules[0].Detail
	default:
		d.Decision, d.Reason = approved, "all six rules passed"
	}
}

func noteLine(note string) string {
	if note == "" {
		return ""
	}
	return " (" + note + ")"
}
