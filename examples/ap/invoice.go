package ap

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// form shows how invoices are written.
const form = `Write it as JSON, or with a label on each line:

  Vendor: Kestrel Office Supply Corp
  Invoice number: KOS-2026-0418
  Date: 2026-03-03
  Line: 12 x ergonomic chairs @ 650.00 = 7,800.00
  Total: USD 7,800.00
  Terms: Net 30
  Purchase order: PO-4471

In JSON the same are vendor, invoiceNumber, date, currency, lines, total, terms
and purchaseOrder. Vendor, number and total are needed.`

// invoice is what a bill says. What it does not say is left out.
type invoice struct {
	Vendor        string   `json:"vendor"`
	Number        string   `json:"invoiceNumber"`
	Date          string   `json:"date,omitempty"`     // YYYY-MM-DD
	Currency      string   `json:"currency,omitempty"` // ISO 4217
	Lines         []string `json:"lines"`              // as they are written
	Total         money    `json:"total"`              // what is asked to be paid
	Terms         string   `json:"terms,omitempty"`
	PurchaseOrder string   `json:"purchaseOrder,omitempty"`
}

// readInvoice reads a JSON object, or text with "Label: value" on its lines. It
// reads what is there and invents nothing; an error shows the form.
func readInvoice(text string) (*invoice, error) {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	read := labels
	if strings.HasPrefix(text, "{") {
		read = fields
	}
	inv := &invoice{Lines: []string{}}
	given := make(map[string]bool)
	err := read(text, func(label, value string) error {
		part := parts[squash(label)]
		if part == "" || value == "" { // it counts for nothing
			return nil
		}
		if given[part] && part != "line" {
			return fmt.Errorf("it states its %s twice, the second time as %q", part, value)
		}
		given[part] = true
		return inv.set(part, value)
	})
	switch {
	case err != nil:
	case inv.Vendor == "":
		err = errors.New("it names no vendor")
	case inv.Number == "":
		err = errors.New("it has no invoice number")
	case inv.Total <= 0:
		err = errors.New("it asks for no total")
	}
	if err != nil {
		return nil, fmt.Errorf("this is not an invoice that can be processed: %w. %s", err, form)
	}
	return inv, nil
}

func labels(text string, set func(label, value string) error) error {
	for line := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == '\n' || c == '\r' }) {
		if label, value, ok := strings.Cut(line, ":"); ok {
			if err := set(label, strings.TrimSpace(value)); err != nil {
				return err
			}
		}
	}
	return nil
}

func fields(text string, set func(label, value string) error) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return fmt.Errorf("it begins like JSON, and is none: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		values, label := []json.RawMessage{all[name]}, name
		if squash(name) == "lines" && json.Unmarshal(all[name], &values) == nil {
			label = "line"
		}
		for _, raw := range values {
			value := string(raw)                      // of a number or an object
			_ = json.Unmarshal(raw, &value)           // of a text
			value = strings.TrimPrefix(value, "null") // of nothing
			if err := set(label, strings.TrimSpace(value)); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// parts are the parts of an invoice, by their labels.
var parts = map[string]string{
	"vendor": "vendor", "supplier": "vendor", "from": "vendor",
	"invoicenumber": "number", "invoiceno": "number", "invoice": "number",
	"date": "date", "invoicedate": "date", "currency": "currency", "line": "line",
	"total": "total", "totaldue": "total", "amountdue": "total",
	"terms": "terms", "paymentterms": "terms",
	"purchaseorder": "order", "po": "order", "ponumber": "order",
}

// set fills in a part.
func (inv *invoice) set(part, value string) (err error) {
	switch part {
	case "vendor":
		inv.Vendor = value
	case "number":
		inv.Number = value
	case "date":
		inv.Date, err = readDate(value)
	case "currency":
		err = inv.setCurrency(value)
	case "line":
		inv.Lines = append(inv.Lines, value)
	case "total":
		err = inv.setTotal(value)
	case "terms":
		inv.Terms = value
	case "order":
		inv.PurchaseOrder = value
	}
	return err
}

func readDate(value string) (string, error) {
	for _, layout := range []string{time.DateOnly, "2 January 2006", "January 2, 2006", "2 Jan 2006", "Jan 2, 2006"} {
		if d, err := time.Parse(layout, value); err == nil {
			return d.Format(time.DateOnly), nil
		}
	}
	return "", fmt.Errorf("the date %q is not clear: write it like 2026-03-03", value)
}

var currency = regexp.MustCompile(`^[A-Z]{3}$`)

func (inv *invoice) setCurrency(code string) error {
	if known, ok := map[string]string{"$": "USD", "€": "EUR", "£": "GBP"}[code]; ok {
		code = known
	}
	if !currency.MatchString(code) {
		return fmt.Errorf("%q is no currency: write its code, such as USD", code)
	}
	if inv.Currency != "" && inv.Currency != code {
		return fmt.Errorf("its amounts are in %s and in %s: write all of them in one", inv.Currency, code)
	}
	inv.Currency = code
	return nil
}

var amount = regexp.MustCompile(`^([^\d-]*?) ?(-?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?) ?([^\d]*)$`)

// setTotal reads a number with or without its currency: "USD 1,234.50", "£80".
func (inv *invoice) setTotal(value string) (err error) {
	m := amount.FindStringSubmatch(value)
	if m == nil {
		return fmt.Errorf("the amount %q is not clear: write it like USD 1,234.50", value)
	}
	if code := m[1] + m[3]; code != "" {
		if err := inv.setCurrency(code); err != nil {
			return err
		}
	}
	inv.Total, err = parseMoney(strings.ReplaceAll(m[2], ",", ""))
	return err
}
