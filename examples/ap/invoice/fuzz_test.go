package invoice

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// FuzzRead: whatever the text, there is an invoice that survives JSON or an
// error that names what is missing.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, _, _ := strings.Cut(mustRead(f, file), "%%\n")
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		inv, err := Read(text)
		if err != nil {
			var no *NotInvoiceError
			if !errors.As(err, &no) || len(no.Missing) == 0 {
				t.Fatalf("Read(%q) = %v, want an error that names what is missing", text, err)
			}
			return
		}
		if inv.Vendor == "" || inv.Number == "" || inv.Total <= 0 {
			t.Fatalf("Read(%q) = %+v, want vendor, number and a positive total", text, inv)
		}
		raw, err := json.Marshal(inv)
		if err != nil {
			t.Fatal(err)
		}
		var back Invoice
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Fatalf("read back %s: %v", raw, err)
		}
		again, err := json.Marshal(back)
		if err != nil || string(again) != string(raw) {
			t.Fatalf("%s reads back as %s (%v)", raw, again, err)
		}
	})
}

func TestMoneyRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Money(rapid.Int64Range(-maxWhole*100, maxWhole*100).Draw(t, "money"))
		got, err := ParseMoney(m.String())
		if err != nil || got != m {
			t.Fatalf("ParseMoney(%q) = %d, %v, want %d", m.String(), got, err, m)
		}
		var fromJSON Money
		if err := json.Unmarshal([]byte(m.String()), &fromJSON); err != nil || fromJSON != m {
			t.Fatalf("unmarshal %s = %d, %v, want %d", m, fromJSON, err, m)
		}
	})
}

func TestMoneyText(t *testing.T) {
	for _, tt := range []struct {
		name, in, want, grouped string
	}{
		{"whole", "15600", "15600", "15,600"},
		{"cents", "1234.50", "1234.5", "1,234.50"},
		{"negative", "-0.05", "-0.05", "-0.05"},
		{"million", "1200000", "1200000", "1,200,000"},
		{"long zeros", "1.230000000", "1.23", "1.23"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := ParseMoney(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tt.want, tt.grouped}, []string{m.String(), m.Grouped()}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestMoneyRefuses(t *testing.T) {
	for _, in := range []string{"", "-", "1.23456", "1,5", "999999999999999999999", "0x10", " 1", "1e5", "--1", "1.-5"} {
		if m, err := ParseMoney(in); err == nil {
			t.Errorf("ParseMoney(%q) = %s, want an error", in, m)
		}
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
}

func TestCustomerIsNoVendor(t *testing.T) {
	for _, tt := range []struct{ name, text, customer, other string }{
		{"label", "Bill to: Usher Industries Ltd", "USHER INDUSTRIES LTD.", "Ushers Ltd"},
		{"block", "Ship to:\nUsher Industries\nDock 4", "Usher Industries Ltd", "Dock Ltd"},
		{"column", "From          To\nGrebe Inc     Usher Inc", "Usher", "Grebe"},
		{"prose", "services provided to Usher Industries in May", "Usher Industries", "May"},
		{"greeting", "Dear Marisol Ortega,", "Marisol Ortega", "Marisa"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			z := findZones(tt.text)
			if !z.has(tt.customer) || z.has(tt.other) {
				t.Errorf("findZones(%q) = %v, want %q in it and %q not", tt.text, z.names, tt.customer, tt.other)
			}
		})
	}
}

// TestReadIsQuick: texts made to be slow are read in reasonable time; the test
// binary's own limit is the judge.
func TestReadIsQuick(t *testing.T) {
	for _, piece := range []string{"1 ", "total 1 ", "12/12/2026 ", "$1 each ", "a.", "invoice from ", "(", "- x @ $1 ", "| 1 | 2 | 3 |\n", "bill to A\n", "  \n"} {
		text := strings.Repeat(piece, (8<<10)/len(piece))
		if _, err := Read(text); err != nil {
			var no *NotInvoiceError
			if !errors.As(err, &no) {
				t.Errorf("Read of %q repeated: %v", piece, err)
			}
		}
	}
}
