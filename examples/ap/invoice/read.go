package invoice

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Form shows how invoices are written.
const Form = `Write it as JSON, or with a label on each line:

  Vendor: Kestrel Office Supply Corp
  Invoice number: KOS-2026-0418
  Date: 2026-03-03
  Line: 12 x ergonomic chairs @ 650.00 = 7,800.00
  Subtotal: 7,800.00
  Tax: 0.00
  Total: USD 7,800.00
  Terms: Net 30
  Purchase order: PO-4471

In JSON the same are vendor, invoiceNumber, date, currency, lines, subtotal, tax,
total, terms and purchaseOrder. Vendor, number and total are needed.`

// RefusedError says why a text cannot be read as an invoice, and shows [Form].
type RefusedError struct {
	Missing []string // parts without which there is no invoice
	Problem string   // with a part that is there
}

func (e *RefusedError) Error() string {
	problem := e.Problem
	if n := len(e.Missing); n > 0 {
		list := e.Missing[n-1]
		if n > 1 {
			list = strings.Join(e.Missing[:n-1], ", ") + " and " + list
		}
		problem = list + " could not be found"
	}
	return "this is not an invoice that can be processed: " + problem + ". " + Form
}

// Read reads an invoice. The error is a [*RefusedError].
func Read(text string) (*Invoice, error) {
	r := reader{inv: &Invoice{Lines: []Line{}}, given: make(map[string]bool)}
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	var err error
	if strings.HasPrefix(text, "{") {
		err = r.object(text)
	} else {
		err = r.labels(text)
	}
	if err != nil {
		return nil, &RefusedError{Problem: err.Error()}
	}
	var missing []string
	for _, part := range []struct {
		here bool
		name string
	}{{r.inv.Vendor != "", "a vendor"}, {r.inv.Number != "", "an invoice number"}, {r.inv.Total > 0, "a total"}} {
		if !part.here {
			missing = append(missing, part.name)
		}
	}
	if missing != nil {
		return nil, &RefusedError{Missing: missing}
	}
	return r.inv, nil
}

// reader fills in an invoice, each part once.
type reader struct {
	inv   *Invoice
	given map[string]bool // parts
}

func (r *reader) labels(text string) error {
	for line := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == '\n' || c == '\r' }) {
		label, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		if err := r.set(label, strings.TrimSpace(value)); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) object(text string) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		return fmt.Errorf("it begins like JSON, and is none: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		raw := fields[name]
		var err error
		switch {
		case string(raw) == "null":
		case raw[0] == '[' && Squash(name) == "lines":
			err = json.Unmarshal(raw, &r.inv.Lines)
		case raw[0] == '"':
			var value string
			if err = json.Unmarshal(raw, &value); err == nil {
				err = r.set(name, strings.TrimSpace(value))
			}
		default:
			err = r.set(name, string(raw))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// parts are the parts of an invoice with the labels of each, squashed.
var parts = []struct {
	labels []string
	set    func(inv *Invoice, value string) error
}{
	{[]string{"vendor", "supplier", "from"}, func(inv *Invoice, v string) error { inv.Vendor = v; return nil }},
	{[]string{"invoicenumber", "invoiceno", "invoice"}, func(inv *Invoice, v string) error { inv.Number = v; return nil }},
	{[]string{"date", "invoicedate"}, setDate},
	{[]string{"currency"}, func(inv *Invoice, v string) error { return inv.setCurrency(v) }},
	{[]string{"subtotal", "net"}, func(inv *Invoice, v string) error { return inv.setAmount(&inv.Subtotal, v) }},
	{[]string{"tax", "vat"}, func(inv *Invoice, v string) error { return inv.setAmount(&inv.Tax, v) }},
	{[]string{"total", "totaldue", "amountdue"}, setTotal},
	{[]string{"terms", "paymentterms"}, func(inv *Invoice, v string) error { inv.Terms = Text(v); return nil }},
	{[]string{"purchaseorder", "po", "ponumber"}, func(inv *Invoice, v string) error { inv.PurchaseOrder = Text(v); return nil }},
}

// set fills in the part that a label names; other labels count for nothing.
func (r *reader) set(label, value string) error {
	label = Squash(label)
	if value == "" {
		return nil
	}
	if label == "line" {
		return r.inv.addLine(value)
	}
	for _, p := range parts {
		if !slices.Contains(p.labels, label) {
			continue
		}
		if name := p.labels[0]; r.given[name] {
			return fmt.Errorf("it states its %s twice, the second time as %q", name, value)
		}
		r.given[p.labels[0]] = true
		return p.set(r.inv, value)
	}
	return nil
}

func setDate(inv *Invoice, value string) error {
	for _, layout := range []string{time.DateOnly, "2 January 2006", "January 2, 2006", "2 Jan 2006", "Jan 2, 2006"} {
		if d, err := time.Parse(layout, value); err == nil {
			inv.Date = Text(d.Format(time.DateOnly))
			return nil
		}
	}
	return fmt.Errorf("the date %q is not clear: write it like 2026-03-03", value)
}

func setTotal(inv *Invoice, value string) error {
	var total *Money
	if err := inv.setAmount(&total, value); err != nil {
		return err
	}
	inv.Total = *total
	return nil
}

func (inv *Invoice) setCurrency(code string) error {
	if known, ok := map[string]string{"$": "USD", "€": "EUR", "£": "GBP"}[code]; ok {
		code = known
	}
	if len(code) != 3 || strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return fmt.Errorf("%q is no currency: write its code, such as USD", code)
	}
	if inv.Currency != "" && inv.Currency != Text(code) {
		return fmt.Errorf("its amounts are in %s and in %s: write all of them in one", inv.Currency, code)
	}
	inv.Currency = Text(code)
	return nil
}

const digits = "0123456789"

// setAmount reads an amount with or without its currency: "USD 1,234.50", "£80".
func (inv *Invoice) setAmount(to **Money, value string) error {
	from, end := strings.IndexAny(value, "-"+digits), strings.LastIndexAny(value, digits)+1
	if from < 0 || from >= end {
		return fmt.Errorf("%q is no amount: write it like USD 1,234.50", value)
	}
	if code := strings.TrimSpace(value[:from] + value[end:]); code != "" {
		if err := inv.setCurrency(code); err != nil {
			return err
		}
	}
	whole, fraction, point := strings.Cut(value[from:end], ".")
	groups := strings.Split(whole, ",")
	for i, g := range groups[1:] {
		if len(g) != 3 || i == 0 && len(strings.TrimPrefix(groups[0], "-")) > 3 {
			return fmt.Errorf("the amount %q is not clear: write it like 1234.50 or 1,234.50", value)
		}
	}
	plain := strings.Join(groups, "")
	if point {
		plain += "." + fraction
	}
	m, err := ParseMoney(plain)
	*to = &m
	return err
}

// addLine reads "QUANTITY x DESCRIPTION @ PRICE = AMOUNT", any part but the
// description left out.
func (inv *Invoice) addLine(value string) (err error) {
	var l Line
	text, amount, hasAmount := strings.Cut(value, " = ")
	if hasAmount {
		err = inv.setAmount(&l.Amount, amount)
	}
	text, price, hasPrice := strings.Cut(text, " @ ")
	if hasPrice && err == nil {
		err = inv.setAmount(&l.UnitPrice, price)
	}
	if quantity, rest, ok := strings.Cut(text, " x "); ok {
		if q, bad := ParseMoney(quantity); bad == nil {
			l.Quantity, text = &q, rest
		}
	}
	l.Description = text
	inv.Lines = append(inv.Lines, l)
	return err
}
