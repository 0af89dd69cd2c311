package ap

import (
	"fmt"

	"usher/examples/ap/invoice"
)

// amountIs is rule AP-001: who must be asked, if anyone.
func amountIs(p policy, inv *invoice.Invoice, o *order) (r rule, escalateTo string) {
	r = rule{Rule: "AP-001"}
	switch {
	case inv.Total < p.alone:
		r.Passed = true
		r.Detail = fmt.Sprintf("%s is below %s", inv.Total.Grouped(), p.alone.Grouped())
	case inv.Total <= p.manager:
		escalateTo = "the manager of the order"
		if o != nil && o.Manager != "" {
			escalateTo = o.Manager
		}
		r.Detail = fmt.Sprintf("%s is between %s and %s: %s decides", inv.Total.Grouped(), p.alone.Grouped(), p.manager.Grouped(), escalateTo)
	default:
		escalateTo = "the vice president"
		if p.vicePresident != "" {
			escalateTo = p.vicePresident + " (VP)"
		}
		r.Detail = fmt.Sprintf("%s is above %s: %s decides", inv.Total.Grouped(), p.manager.Grouped(), escalateTo)
	}
	return r, escalateTo
}

func sanctionsClear(v *vendor) rule {
	switch {
	case v == nil:
		return rule{"AP-002", false, "no vendor on record to check"}
	case v.Sanctions != "CLEAR":
		return rule{"AP-002", false, v.Name + " is " + orUnknown(v.Sanctions) + noted(v.Note)}
	}
	return rule{"AP-002", true, v.Name + " is CLEAR"}
}

func vendorActive(inv *invoice.Invoice, v *vendor) rule {
	switch {
	case v == nil:
		return rule{"AP-003", false, inv.Vendor + " is not on record"}
	case v.Status != "ACTIVE":
		return rule{"AP-003", false, v.Name + " is " + orUnknown(v.Status)}
	}
	return rule{"AP-003", true, v.Name + " is ACTIVE"}
}

func notDuplicate(en *enrichment) rule {
	switch {
	case !en.Searched:
		return rule{"AP-004", false, "earlier invoices could not be looked up"}
	case len(en.Earlier) > 0:
		return rule{"AP-004", false, "came before as w/invoices/" + en.Earlier[0].RecordID}
	}
	return rule{"AP-004", true, "first invoice of this number"}
}

func orderMatches(inv *invoice.Invoice, en *enrichment) rule {
	o := en.Order
	switch {
	case inv.PurchaseOrder == "":
		return rule{"AP-005", false, "the invoice names no purchase order"}
	case o == nil:
		return rule{"AP-005", false, "order " + string(inv.PurchaseOrder) + " is not on record"}
	case en.Vendor == nil || invoice.Fold(o.Vendor) != invoice.Fold(en.Vendor.Name):
		return rule{"AP-005", false, "order " + o.ID + " is made out to " + orUnknown(o.Vendor)}
	case o.Status != "OPEN":
		return rule{"AP-005", false, "order " + o.ID + " is " + orUnknown(o.Status)}
	case string(inv.Currency) != o.Currency:
		return rule{"AP-005", false, fmt.Sprintf("order %s is in %s, the invoice in %s", o.ID, orUnknown(o.Currency), orUnknown(string(inv.Currency)))}
	}
	return rule{"AP-005", true, fmt.Sprintf("order %s over %s %s", o.ID, o.Amount.Grouped(), o.Currency)}
}

func withinBudget(inv *invoice.Invoice, o *order, spent spending) rule {
	switch {
	case o == nil:
		return rule{"AP-006", false, "no order to compare with"}
	case spent.problem != "":
		return rule{"AP-006", false, spent.problem}
	case inv.Total <= 0:
		return rule{"AP-006", false, "the total is not positive"}
	case spent.total+inv.Total > o.Amount:
		return rule{"AP-006", false, fmt.Sprintf("%s with %s decided before is above the order's %s", inv.Total.Grouped(), spent.total.Grouped(), o.Amount.Grouped())}
	}
	return rule{"AP-006", true, fmt.Sprintf("%s of %s remain", (o.Amount - spent.total - inv.Total).Grouped(), o.Amount.Grouped())}
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

func noted(note string) string {
	if note == "" {
		return ""
	}
	return " (" + note + ")"
}
