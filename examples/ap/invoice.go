package ap

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"usher/caps/value"
	"usher/tools/spend"
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

// money is an amount of an invoice.
type money = spend.Money

// invoice is what a bill says. What it does not say is left out.
type invoice struct {
	Vendor        string   `json:"vendor"`
	Number        string   `json:"invoiceNumber"`
	Date          string   `json:"date,omitempty"`     // as it is written
	Currency      string   `json:"currency,omitempty"` // ISO 4217
	Lines         []string `json:"lines"`              // as they are written
	Total         money    `json:"total"`              // what is asked to be paid
	Terms         string   `json:"terms,omitempty"`
	PurchaseOrder string   `json:"purchaseOrder,omitempty"`
}

// parts are the parts of an invoice, by their labels.
var parts = map[string]string{
	"vendor": "vendor", "supplier": "vendor", "from": "vendor",
	"invoicenumber": "number", "invoiceno": "number", "invoice": "number",
	"date": "date", "invoicedate": "date", "currency": "currency", "line": "line", "lines": "line",
	"total": "total", "totaldue": "total", "amountdue": "total",
	"terms": "terms", "paymentterms": "terms",
	"purchaseorder": "order", "po": "order", "ponumber": "order",
}

// readInvoice reads a JSON object, or text with "Label: value" on its lines. It
// reads what is there and invents nothing; an error shows the form.
func readInvoice(text string) (*invoice, error) {
	inv, err := parseInvoice(strings.TrimSpace(strings.TrimPrefix(text, "\ufeff")))
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

func parseInvoice(text string) (*invoice, error) {
	read := labels
	if strings.HasPrefix(text, "{") {
		read = fields
	}
	pairs, err := read(text)
	if err != nil {
		return nil, err
	}
	inv, total := &invoice{Lines: []string{}}, ""
	places := map[string]*string{
		"vendor": &inv.Vendor, "number": &inv.Number, "date": &inv.Date, "currency": &inv.Currency,
		"total": &total, "terms": &inv.Terms, "order": &inv.PurchaseOrder,
	}
	for _, p := range pairs {
		part, value := parts[squash(p[0])], strings.TrimSpace(p[1])
		switch to := places[part]; {
		case part == "" || value == "": // it counts for nothing
		case part == "line":
			inv.Lines = append(inv.Lines, value)
		case *to != "":
			return nil, fmt.Errorf("it states its %s twice, the second time as %q", part, value)
		default:
			*to = value
		}
	}
	return inv, inv.pay(total)
}

// labels are the lines with a label.
func labels(text string) (pairs [][2]string, err error) {
	for line := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == '\n' || c == '\r' }) {
		if label, value, ok := strings.Cut(line, ":"); ok {
			pairs = append(pairs, [2]string{label, value})
		}
	}
	return pairs, nil
}

// fields are the fields of a JSON object, each entry of a list by itself.
func fields(text string) (pairs [][2]string, err error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, fmt.Errorf("it begins like JSON, and is none: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		values := []json.RawMessage{all[name]}
		_ = json.Unmarshal(all[name], &values) // of a list
		for _, raw := range values {
			value := strings.TrimPrefix(string(raw), "null")
			_ = json.Unmarshal(raw, &value) // of a text
			pairs = append(pairs, [2]string{name, value})
		}
	}
	return pairs, nil
}

var (
	amount   = value.Form(`^([^\d-]*?) ?(-?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?) ?([^\d]*)$`)
	currency = value.Form(`^[A-Z]{3}$`)
)

// code is a currency's code.
func code(written string) string {
	return cmp.Or(map[string]string{"$": "USD", "€": "EUR", "£": "GBP"}[written], written)
}

// pay reads the total, with or without its currency: "USD 1,234.50", "£80".
func (inv *invoice) pay(total string) (err error) {
	m := amount().FindStringSubmatch(cmp.Or(total, "0"))
	if m == nil {
		return fmt.Errorf("the amount %q is not clear: write it like USD 1,234.50", total)
	}
	beside, stated := code(m[1]+m[3]), code(inv.Currency)
	for _, c := range []string{beside, stated} {
		if c != "" && !currency().MatchString(c) {
			return fmt.Errorf("%q is no currency: write its code, such as USD", c)
		}
	}
	if inv.Currency = cmp.Or(stated, beside); beside != "" && beside != inv.Currency {
		return fmt.Errorf("its amounts are in %s and in %s: write all of them in one", beside, stated)
	}
	if strings.HasPrefix(m[2], "-") {
		return nil // nothing is asked for
	}
	inv.Total, err = spend.ParseMoney(strings.ReplaceAll(m[2], ",", ""))
	return err
}

// squash is an identifier as it is compared: its letters and digits, in lower
// case.
func squash(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

const legalForms = " ab ag aps as bv co company corp corporation gmbh inc incorporated kg limited llc llp ltd nv oy plc sa sarl spa srl "

// fold is a name as it is compared: lower case, without punctuation and without
// its legal form. "ACME, Corp." and "Acme" fold to the same.
func fold(name string) string {
	words := strings.FieldsFunc(strings.ToLower(strings.ReplaceAll(name, ".", "")), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	for len(words) > 1 && strings.Contains(legalForms, " "+words[len(words)-1]+" ") {
		words = words[:len(words)-1]
	}
	return strings.Join(words, " ")
}

// sameOrder compares order numbers as people write them: "PO-4471" and "po 4471"
// and "4471" are one.
func sameOrder(a, b string) bool {
	a, b = squash(a), squash(b)
	return a == b || a == "po"+b || b == "po"+a
}

// recordID names an invoice by its vendor and number, as one path segment.
// Spelling does not count: "GX-88" and "gx 88" of one vendor have one id.
func recordID(vendor, number string) string {
	return strings.ReplaceAll(fold(vendor), " ", "-") + "_" + squash(number)
}
