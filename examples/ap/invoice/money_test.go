package invoice

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// FuzzRead: whatever the text, there is an invoice that survives JSON or an
// error that names what is missing.
func FuzzRead(f *testing.F) {
	for _, text := range []string{asText, asJSON, Form, ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		inv, err := Read(text)
		if err != nil {
			var refused *RefusedError
			if !errors.As(err, &refused) || len(refused.Missing) == 0 && refused.Problem == "" {
				t.Fatalf("Read(%q) = %v, want an error that says what is wrong", text, err)
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
