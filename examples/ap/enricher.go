package ap

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"usher/examples/ap/invoice"
)

// enrich is the enricher: it finds the vendor, the order, and invoices that
// came before under the same vendor and number.
func enrich(t *turn) any {
	var task struct {
		Extraction *invoice.Invoice `json:"extraction"`
	}
	if err := json.Unmarshal([]byte(t.task), &task); err != nil || task.Extraction == nil {
		return enrichment{Earlier: []earlier{}, Problems: []string{"the task holds no extraction: send {\"extraction\": …} as the scanner makes it"}}
	}
	inv := task.Extraction
	out := enrichment{Earlier: []earlier{}, Problems: []string{}}
	vendors, vendorsReady := t.keys("w/vendor-records")
	orders, ordersReady := keys{}, true
	if inv.PurchaseOrder != "" {
		orders, ordersReady = t.keys("w/purchase-orders")
	}
	if !vendorsReady || !ordersReady {
		return waiting
	}
	vendorReady := t.findVendor(&out, vendors, inv.Vendor)
	orderReady := t.findOrder(&out, orders, string(inv.PurchaseOrder))
	if !vendorReady || !orderReady {
		return waiting
	}
	name := inv.Vendor
	if out.Vendor != nil {
		name = out.Vendor.Name
	}
	if !t.findEarlier(&out, recordID(name, inv.Number)) {
		return waiting
	}
	return out
}

// keys is a listing, or why there is none.
type keys struct {
	names   []string
	problem string
}

const (
	listPage   = 1000
	listPages  = 5
	mostRead   = 50 // records that are read to find one, where their keys tell nothing
	mostCopies = 9
)

// keys lists what lies below a path, page by page.
func (t *turn) keys(path string) (keys, bool) {
	var all keys
	for range listPages {
		r, ready := t.call("covia_list", map[string]any{"path": path, "offset": len(all.names), "limit": listPage})
		if !ready {
			return keys{}, false
		}
		var page struct {
			Exists bool     `json:"exists"`
			Count  int      `json:"count"`
			Keys   []string `json:"keys"`
		}
		if !r.into(&page) {
			all.problem = path + " could not be listed: " + r.problem
			return all, true
		}
		all.names = append(all.names, page.Keys...)
		if len(page.Keys) == 0 || len(all.names) >= page.Count {
			break
		}
	}
	return all, true
}

// value is what covia:read answers.
type value[T any] struct {
	Exists    bool `json:"exists"`
	Truncated bool `json:"truncated"`
	Value     *T   `json:"value"`
}

// read reads the record at a path: nil where there is none.
func read[T any](t *turn, path string) (record *T, problem string, ready bool) {
	r, ready := t.call("covia_read", map[string]any{"path": path})
	if !ready {
		return nil, "", false
	}
	var v value[T]
	if !r.into(&v) {
		return nil, path + " could not be read: " + r.problem, true
	}
	if v.Truncated {
		return nil, path + " is too large to read", true
	}
	return v.Value, "", true
}

func (t *turn) findVendor(out *enrichment, known keys, name string) (ready bool) {
	if known.problem != "" {
		out.Problems = append(out.Problems, known.problem)
		return true
	}
	folded := invoice.Fold(name)
	ready = true
	for _, key := range likely(known.names, folded) {
		v, problem, here := read[vendor](t, "w/vendor-records/"+key)
		switch {
		case !here:
			ready = false
		case problem != "":
			out.Problems = append(out.Problems, problem)
		case v != nil && out.Vendor == nil && named(v, folded):
			out.Vendor = v
		}
	}
	return ready
}

// likely returns the keys that can belong to a name: all of few, and of many
// those that share its first word.
func likely(known []string, folded string) []string {
	if len(known) <= mostRead {
		return known
	}
	first, _, _ := strings.Cut(folded, " ")
	var out []string
	for _, key := range known {
		if strings.HasPrefix(invoice.Fold(key), first) && len(out) < mostRead {
			out = append(out, key)
		}
	}
	return out
}

func named(v *vendor, folded string) bool {
	return invoice.Fold(v.Name) == folded ||
		slices.ContainsFunc(v.Aliases, func(a string) bool { return invoice.Fold(a) == folded })
}

func (t *turn) findOrder(out *enrichment, known keys, id string) (ready bool) {
	if id == "" {
		return true
	}
	if known.problem != "" {
		out.Problems = append(out.Problems, known.problem)
		return true
	}
	at := slices.IndexFunc(known.names, func(key string) bool { return sameOrder(key, id) })
	if at < 0 {
		return true
	}
	o, problem, ready := read[order](t, "w/purchase-orders/"+known.names[at])
	if problem != "" {
		out.Problems = append(out.Problems, problem)
	}
	if o != nil {
		o.ID = known.names[at]
	}
	out.Order = o
	return ready
}

// sameOrder compares order numbers as people write them: "PO-4471" and "po 4471"
// and "4471" are one.
func sameOrder(a, b string) bool {
	a, b = invoice.Squash(a), invoice.Squash(b)
	return a == b || a == "po"+b || b == "po"+a
}

// findEarlier looks where earlier invoices of this vendor and number lie, and
// gives this one a record of its own beside them.
func (t *turn) findEarlier(out *enrichment, id string) (ready bool) {
	out.RecordID = id
	for n := 2; ; n++ {
		came, problem, ready := read[struct {
			Total *invoice.Money `json:"total"`
			Date  invoice.Text   `json:"date"`
		}](t, "w/invoices/"+out.RecordID)
		if !ready {
			return false
		}
		if problem != "" {
			out.Problems = append(out.Problems, problem)
			return true
		}
		if came == nil {
			out.Searched = true
			return true
		}
		out.Earlier = append(out.Earlier, earlier{out.RecordID, came.Total, came.Date})
		if n > mostCopies {
			// Many copies: the earliest are enough to refuse this one, which
			// takes the last place.
			out.Searched = true
			return true
		}
		out.RecordID = id + "_" + strconv.Itoa(n)
	}
}
