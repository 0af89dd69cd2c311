package ap

import (
	"encoding/json"
	"strings"

	"usher/examples/ap/invoice"
)

// approve is the approver: it applies the policy to an invoice and what is
// known about it, records its decision, and answers it.
func approve(t *turn) any {
	var task struct {
		Extraction *invoice.Invoice `json:"extraction"`
		Enrichment *enrichment      `json:"enrichment"`
	}
	err := json.Unmarshal([]byte(t.task), &task)
	if err != nil || task.Extraction == nil || task.Enrichment == nil || task.Enrichment.RecordID == "" {
		return decision{
			Decision: rejected, Rules: []rule{},
			Reason: "The task is incomplete: send {\"extraction\": …, \"enrichment\": …} as the scanner and the enricher make them.",
		}
	}
	spent, ready := t.spentOn(task.Enrichment.Order)
	if !ready {
		return waiting
	}
	d := judge(t.system, task.Extraction, task.Enrichment, spent)
	d.Record = "w/decisions/" + task.Enrichment.RecordID
	d.Recorded = true // as it stands in the record
	r, ready := t.call("covia_write", map[string]any{"path": d.Record, "value": d})
	if !ready {
		return waiting
	}
	if r.problem != "" {
		// A decision that is not recorded does not count, whatever it was.
		d.Recorded, d.Decision, d.EscalateTo = false, rejected, ""
		d.Reason = "The decision could not be recorded, so nothing is approved: " + r.problem
	}
	return d
}

// spending is what was decided before on an order, or why that is not known.
type spending struct {
	total   invoice.Money
	problem string
}

const slicePage = 100

// spentOn adds up the invoices that were approved or escalated on an order.
func (t *turn) spentOn(o *order) (s spending, ready bool) {
	if o == nil {
		return s, true
	}
	for offset := 0; ; offset += slicePage {
		r, ready := t.call("covia_slice", map[string]any{"path": "w/decisions", "offset": offset, "limit": slicePage})
		if !ready {
			return s, false
		}
		var page struct {
			Exists bool `json:"exists"`
			Count  int  `json:"count"`
			Values []struct {
				Value decision `json:"value"`
			} `json:"values"`
		}
		if !r.into(&page) {
			s.problem = "earlier decisions could not be read: " + r.problem
			return s, true
		}
		for _, v := range page.Values {
			d := v.Value
			if sameOrder(string(d.PurchaseOrder), o.ID) && d.Decision != rejected {
				s.total += d.Total
			}
		}
		if offset+slicePage >= page.Count {
			return s, true
		}
	}
}

// judge applies the six rules.
func judge(system string, inv *invoice.Invoice, en *enrichment, spent spending) decision {
	d := decision{
		Invoice: inv.Number, Vendor: inv.Vendor, Total: inv.Total,
		Currency: inv.Currency, PurchaseOrder: inv.PurchaseOrder,
	}
	p, err := readPolicy(system)
	if err != nil {
		d.Decision, d.Reason = rejected, "The policy cannot be applied: "+err.Error()+"."
		d.Rules = []rule{{"AP-001", false, err.Error()}}
		return d
	}
	if en.Order != nil {
		d.PurchaseOrder = invoice.Text(en.Order.ID)
	}
	amount, escalateTo := amountIs(p, inv, en.Order)
	d.Rules = []rule{
		amount, sanctionsClear(en.Vendor), vendorActive(inv, en.Vendor), notDuplicate(en),
		orderMatches(inv, en), withinBudget(inv, en.Order, spent),
	}
	var failed []string
	for _, r := range d.Rules[1:] {
		if !r.Passed {
			failed = append(failed, r.Rule+": "+r.Detail)
		}
	}
	switch {
	case len(failed) > 0:
		d.Decision, d.Reason = rejected, strings.Join(failed, "; ")
		if len(en.Problems) > 0 {
			d.Reason += " (" + strings.Join(en.Problems, "; ") + ")"
		}
	case escalateTo != "":
		d.Decision, d.EscalateTo, d.Reason = escalated, invoice.Text(escalateTo), amount.Rule+": "+amount.Detail
	default:
		d.Decision, d.Reason = approved, "all six rules passed"
	}
	return d
}
