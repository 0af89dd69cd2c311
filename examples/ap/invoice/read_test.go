package invoice

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	asText = `Vendor: Kestrel Office Supply Corp
Bill to: Usher Industries Ltd
Invoice number: KOS-2026-0418
Date: March 3, 2026
Line: 12 x ergonomic chairs @ $650.00 = $7,800.00
Line: delivery
Subtotal: 7,800.00
VAT: 0
Total due: USD 7,800.00
Payment terms: Net 30: no discount
PO: PO-4471`

	asJSON = `{"vendor":"Kestrel Office Supply Corp","invoiceNumber":"KOS-2026-0418","date":"2026-03-03","currency":"USD",` +
		`"lines":[{"description":"ergonomic chairs","quantity":12,"unitPrice":650,"amount":7800},{"description":"delivery","quantity":null,"unitPrice":null,"amount":null}],` +
		`"subtotal":7800,"tax":0,"total":7800,"terms":"Net 30: no discount","purchaseOrder":"PO-4471"}`
)

// TestRead: however it is written, it is the same invoice.
func TestRead(t *testing.T) {
	for _, tt := range []struct{ name, text string }{
		{"labels", asText},
		{"of Windows", "\ufeff" + strings.ReplaceAll(asText, "\n", "\r\n")},
		{"spread and indented", "\n  " + strings.ReplaceAll(asText, "\n", "\n\n   ") + "\n"},
		{"labels of another case", strings.NewReplacer("Vendor", "SUPPLIER", "Invoice number", "invoice_no.", "Total due", "total").Replace(asText)},
		{"JSON", asJSON},
		{"JSON with texts", strings.NewReplacer(`"total":7800`, `"Total":"$7,800.00"`, `"subtotal":7800`, `"subtotal":"7800.0", "more":{"a":[]}`).Replace(asJSON)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inv, err := Read(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(inv)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(asJSON, string(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestReadInventsNothing(t *testing.T) {
	inv, err := Read("From: A\nInvoice: 1\nTotal: 5")
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(inv)
	want := `{"vendor":"A","invoiceNumber":"1","date":null,"currency":null,"lines":[],"subtotal":null,"tax":null,"total":5,"terms":null,"purchaseOrder":null}`
	if err != nil || string(got) != want {
		t.Errorf("Read = %s (%v), want %s", got, err, want)
	}
}

func TestReadRefuses(t *testing.T) {
	const start = "From: A\nInvoice: 1\n"
	for _, tt := range []struct{ name, text, want string }{
		{"prose", "Invoice 7 of A over $5.", "a vendor, an invoice number and a total could not be found"},
		{"no total", start, "a total could not be found"},
		{"nothing to pay", start + "Total: 0", "a total could not be found"},
		{"a credit", start + "Total: -5", "a total could not be found"},
		{"two totals", start + "Total: 5\nAmount due: 7", `it states its total twice, the second time as "7"`},
		{"two currencies", start + "Total: $5\nTax: £1", "its amounts are in USD and in GBP"},
		{"no number", start + "Total: five", `"five" is no amount`},
		{"a sign in between", start + "Total: 5$0", "write it like 1234.56"},
		{"commas for points", start + "Total: 75.500,00", "write it like"},
		{"a comma for a point", start + "Total: 5,00", `the amount "5,00" is not clear`},
		{"a long group", start + "Total: 1234,567", `the amount "1234,567" is not clear`},
		{"an unclear date", start + "Date: 03/04/2026\nTotal: 5", `the date "03/04/2026" is not clear`},
		{"no currency", start + "Total: about 5", `"about" is no currency`},
		{"broken JSON", `{"vendor":`, "it begins like JSON, and is none"},
		{"another type", `{"vendor":"A","invoiceNumber":"1","total":[5]}`, `total: `},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Read(tt.text)
			var refused *RefusedError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), tt.want) || !strings.HasSuffix(err.Error(), Form) {
				t.Errorf("Read = %v, want %q and the form", err, tt.want)
			}
		})
	}
}

func TestFormIsRead(t *testing.T) {
	if inv, err := Read(Form); err != nil || inv.Total != 7800*scale || len(inv.Lines) != 1 {
		t.Errorf("Read(Form) = %+v, %v", inv, err)
	}
}

func TestFold(t *testing.T) {
	for _, tt := range []struct{ name, a, b string }{
		{"legal form", "Kestrel Office Supply Corp", "KESTREL OFFICE SUPPLY, Corp."},
		{"punctuation", "Sable & Finch LLC", "Sable Finch"},
		{"two forms", "Nordwind Logistik GmbH & Co. KG", "nordwind logistik"},
		{"dots", "Silverton Valves B.V.", "Silverton Valves BV"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if a, b := Fold(tt.a), Fold(tt.b); a != b {
				t.Errorf("Fold(%q) = %q, Fold(%q) = %q, want the same", tt.a, a, tt.b, b)
			}
		})
	}
	if a, b := Fold("Corvane Trading"), Fold("Corvane Trade"); a == b {
		t.Errorf("two names fold to %q", a)
	}
	if got := Fold("Co."); got != "co" {
		t.Errorf("Fold(Co.) = %q, want a name", got)
	}
}
