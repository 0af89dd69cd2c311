package invoice

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRead reads testdata: in each file a text, a line of %%, and what it says,
// a part a line. Parts that are not named must be absent.
func TestRead(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 40 {
		t.Fatalf("testdata has %d texts (%v), want at least 40", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, want := load(t, file)
			for _, sp := range spellings {
				inv, err := Read(sp.spell(text))
				if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(render(inv, err), "\n")); diff != "" {
					t.Fatalf("%s (-want +got):\n%s", sp.name, diff)
				}
			}
		})
	}
}

// spellings write the same text in ways that must not matter.
var spellings = []struct {
	name  string
	spell func(string) string
}{
	{"as it is", func(s string) string { return s }},
	{"windows", func(s string) string { return "\ufeff" + strings.ReplaceAll(s, "\n", "\r\n") }},
	{"old mac", func(s string) string { return strings.ReplaceAll(s, "\n", "\r") }},
	{"indented", func(s string) string { return "\n\n   " + strings.ReplaceAll(s, "\n", "\n   ") + "\n\n" }},
	{"long dashes", func(s string) string { return strings.ReplaceAll(s, " - ", " – ") }},
	{"hard hyphens", func(s string) string { return strings.ReplaceAll(s, "-", "\u2011") }},
	{"trailing", func(s string) string { return strings.ReplaceAll(s, "\n", "  \n") }},
}

func load(t *testing.T, file string) (text, want string) {
	t.Helper()
	text, want, ok := strings.Cut(mustRead(t, file), "%%\n")
	if !ok {
		t.Fatalf("%s has no line of %%%%", file)
	}
	return text, want
}

func mustRead(t testing.TB, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func render(inv *Invoice, err error) string {
	var no *NotInvoiceError
	if errors.As(err, &no) {
		return "missing: " + strings.Join(no.Missing, ", ") + "\n"
	}
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	part := func(name, value string) {
		if value != "" && value != "-" {
			b.WriteString(name + ": " + value + "\n")
		}
	}
	part("vendor", inv.Vendor)
	part("number", inv.Number)
	part("date", inv.Date)
	part("currency", inv.Currency)
	for _, l := range inv.Lines {
		part("line", l.Description+" | "+money(l.Quantity)+" | "+money(l.UnitPrice)+" | "+money(l.Amount))
	}
	part("subtotal", money(inv.Subtotal))
	part("tax", money(inv.Tax))
	part("total", inv.Total.String())
	part("terms", inv.Terms)
	part("order", inv.PurchaseOrder)
	return b.String()
}

func money(m *Money) string {
	if m == nil {
		return "-"
	}
	return m.String()
}
