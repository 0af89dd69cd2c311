package ap

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	asText = `Vendor: Kestrel Office Supply Corp
Bill to: Usher Industries Ltd
Invoice number: KOS-2026-0418
Date: 2026-03-03
Line: 12 x ergonomic chairs @ $650.00 = $7,800.00
Line: delivery
Total due: USD 7,800.00
Payment terms: Net 30: no discount
PO: PO-4471`

	asJSON = `{"vendor":"Kestrel Office Supply Corp","invoiceNumber":"KOS-2026-0418","date":"2026-03-03","currency":"USD",` +
		`"lines":["12 x ergonomic chairs @ $650.00 = $7,800.00","delivery"],` +
		`"total":7800.00,"terms":"Net 30: no discount","purchaseOrder":"PO-4471"}`
)

// TestRead: however it is written, it is the same invoice.
func TestReadInvoice(t *testing.T) {
	for _, tt := range []struct{ name, text string }{
		{"labels", asText},
		{"of Windows", "\ufeff" + strings.ReplaceAll(asText, "\n", "\r\n")},
		{"spread and indented", "\n  " + strings.ReplaceAll(asText, "\n", "\n\n   ") + "\n"},
		{"labels of another case", strings.NewReplacer("Vendor", "SUPPLIER", "Invoice number", "invoice_no.", "Total due", "total").Replace(asText)},
		{"JSON", asJSON},
		{"JSON with texts", strings.NewReplacer(`"total":7800.00`, `"Total":"$7,800.00", "more":{"a":[]}, "note":null`).Replace(asJSON)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inv, err := readInvoice(tt.text)
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
	inv, err := readInvoice("From: A\nInvoice: 1\nTotal: 5")
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(inv)
	want := `{"vendor":"A","invoiceNumber":"1","lines":[],"total":5.00}`
	if err != nil || string(got) != want {
		t.Errorf("Read = %s (%v), want %s", got, err, want)
	}
}

func TestReadRefuses(t *testing.T) {
	const start = "From: A\nInvoice: 1\n"
	for _, tt := range []struct{ name, text, want string }{
		{"prose", "Invoice 7 of A over $5.", "it names no vendor"},
		{"no total", start, "it asks for no total"},
		{"nothing to pay", start + "Total: 0", "it asks for no total"},
		{"a credit", start + "Total: -5", "it asks for no total"},
		{"two totals", start + "Total: 5\nAmount due: 7", `it states its total twice, the second time as "7"`},
		{"two currencies", start + "Total: $5\nCurrency: £", "its amounts are in USD and in GBP"},
		{"no number", start + "Total: five", `the amount "five" is not clear`},
		{"a sign in between", start + "Total: 5$0", "write it like USD 1,234.50"},
		{"commas for points", start + "Total: 75.500,00", "write it like"},
		{"a comma for a point", start + "Total: 5,00", `the amount "5,00" is not clear`},
		{"a long group", start + "Total: 1234,567", `the amount "1234,567" is not clear`},
		{"no currency", start + "Total: about 5", `"about" is no currency`},
		{"broken JSON", `{"vendor":`, "it begins like JSON, and is none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := readInvoice(tt.text)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasSuffix(err.Error(), form) {
				t.Errorf("Read = %v, want %q and the form", err, tt.want)
			}
		})
	}
}

func TestFormIsRead(t *testing.T) {
	if inv, err := readInvoice(form); err != nil || inv.Total != 7_800_000_000 || len(inv.Lines) != 1 {
		t.Errorf("readInvoice(form) = %+v, %v", inv, err)
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
			if a, b := fold(tt.a), fold(tt.b); a != b {
				t.Errorf("fold(%q) = %q, fold(%q) = %q, want the same", tt.a, a, tt.b, b)
			}
		})
	}
	if a, b := fold("Corvane Trading"), fold("Corvane Trade"); a == b {
		t.Errorf("two names fold to %q", a)
	}
	if got := fold("Co."); got != "co" {
		t.Errorf("fold(Co.) = %q, want a name", got)
	}
}

// FuzzReadInvoice: whatever the text, there is an invoice that survives JSON or an
// error that says what is wrong.
func FuzzReadInvoice(f *testing.F) {
	for _, text := range []string{asText, asJSON, form, ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		inv, err := readInvoice(text)
		if err != nil {
			return
		}
		if inv.Vendor == "" || inv.Number == "" || inv.Total <= 0 {
			t.Fatalf("readInvoice(%q) = %+v, want vendor, number and a positive total", text, inv)
		}
		raw, err := json.Marshal(inv)
		if err != nil {
			t.Fatal(err)
		}
		var back invoice
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Fatalf("read back %s: %v", raw, err)
		}
		again, err := json.Marshal(back)
		if err != nil || string(again) != string(raw) {
			t.Fatalf("%s reads back as %s (%v)", raw, again, err)
		}
	})
}
