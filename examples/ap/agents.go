package ap

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// scanResult is what the scanner answers: the invoice, or why there is none.
type scanResult struct {
	Invoice *invoice `json:"invoice,omitempty"`
	Refusal string   `json:"refusal,omitempty"`
}

// scan is the scanner: it reads the text that it is given.
func scan(t *turn) any {
	task := struct{ Text string }{t.task}
	_ = json.Unmarshal([]byte(t.task), &task) // or it is the text itself
	inv, err := readInvoice(task.Text)
	if err != nil {
		return scanResult{Refusal: err.Error()}
	}
	return scanResult{Invoice: inv}
}

// vendor is a record below w/vendor-records/.
type vendor struct {
	Name      string   `json:"name"`
	Aliases   []string `json:"aliases,omitempty"`
	Status    string   `json:"status"`    // ACTIVE or SUSPENDED
	Sanctions string   `json:"sanctions"` // CLEAR or FLAGGED
	Note      string   `json:"note,omitempty"`
}

// order is a record below w/purchase-orders/.
type order struct {
	ID       string `json:"id"`
	Vendor   string `json:"vendor"`
	Amount   money  `json:"amount"`
	Currency string `json:"currency"`
	Manager  string `json:"manager"`
	Status   string `json:"status"` // OPEN or CLOSED
}

// enrichment is what is known about an invoice beside its text. A nil part is
// one that does not exist; what could not be looked up is a problem too.
type enrichment struct {
	RecordID string    `json:"recordId"` // of this invoice below w/invoices/, distinct for a repeated one
	Vendor   *vendor   `json:"vendor"`
	Order    *order    `json:"order"`
	Earlier  []earlier `json:"earlier"`
	Searched bool      `json:"searched"` // earlier invoices could be looked up
	Problems []string  `json:"problems"`
}

// earlier is an invoice of the same vendor and number that came before.
type earlier struct {
	RecordID string `json:"recordId"`
	Total    any    `json:"total"` // as a model may have it
	Date     any    `json:"date"`
}

// enrich is the enricher: it finds the vendor, the order, and invoices that
// came before under the same vendor and number.
func enrich(t *turn) any {
	var task struct{ Extraction invoice }
	out := enrichment{Earlier: []earlier{}, Problems: []string{}}
	if err := json.Unmarshal([]byte(t.task), &task); err != nil || task.Extraction.Vendor == "" {
		out.Problems = append(out.Problems, `the task holds no extraction: send {"extraction": …} as the scanner makes it`)
		return out
	}
	inv := task.Extraction
	vendors, noVendors := all[vendor](t, "w/vendor-records")
	name := fold(inv.Vendor)
	if i := slices.IndexFunc(vendors, func(v entry[vendor]) bool {
		return slices.ContainsFunc(append(v.Value.Aliases, v.Value.Name), func(known string) bool { return fold(known) == name })
	}); i >= 0 {
		out.Vendor = &vendors[i].Value
		inv.Vendor = out.Vendor.Name
	}
	orders, noOrders := all[order](t, "w/purchase-orders")
	if i := slices.IndexFunc(orders, func(o entry[order]) bool { return inv.PurchaseOrder != "" && sameOrder(o.Key, inv.PurchaseOrder) }); i >= 0 {
		out.Order = &orders[i].Value
		out.Order.ID = orders[i].Key
	}
	for _, problem := range []string{noVendors, noOrders, out.search(t, recordID(inv.Vendor, inv.Number))} {
		if problem != "" {
			out.Problems = append(out.Problems, problem)
		}
	}
	return out
}

// search looks where earlier invoices of this vendor and number lie, and gives
// this one a record of its own beside them. After many copies it takes the last
// place: the earliest are enough to refuse it.
func (e *enrichment) search(t *turn, id string) (problem string) {
	e.RecordID = id
	for n := 2; n < 12; n++ {
		came, problem := call[struct {
			Exists bool
			Value  earlier
		}](t, "covia_read", object{"path": "w/invoices/" + e.RecordID})
		if problem != "" {
			return "w/invoices/" + e.RecordID + " could not be read: " + problem
		}
		if !came.Exists {
			break
		}
		came.Value.RecordID = e.RecordID
		e.Earlier = append(e.Earlier, came.Value)
		e.RecordID = id + "_" + strconv.Itoa(n)
	}
	e.Searched = true
	return ""
}

// manage is the manager: it reports on the decisions, and tells the approver.
func manage(t *turn) any {
	list, problem := all[decision](t, "w/decisions")
	if problem != "" {
		return "I cannot report: " + problem
	}
	counts := make(map[string]int)
	open := ""
	for _, e := range list {
		d := e.Value
		if counts[d.Decision]++; d.EscalateTo != "" {
			open += fmt.Sprintf(" %s of %s over %s waits for %s.", d.Invoice, d.Vendor, d.Total, d.EscalateTo)
		}
	}
	report := fmt.Sprintf("%d invoices decided: %d approved, %d escalated, %d rejected.%s",
		len(list), counts[approved], counts[escalated], counts[rejected], open)
	if _, problem := call[any](t, "agent_message", object{"agentId": "Carol", "message": "Report of the day: " + report}); problem != "" {
		report += " The approver could not be told: " + problem
	}
	return strings.TrimSpace(report)
}
