package ap

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/tools/spend"
)

func mustPolicy(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("policy.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func euros(t *testing.T, s string) money {
	t.Helper()
	m, err := spend.ParseMoney(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestJudge goes through the policy, rule by rule and at its thresholds.
func TestJudge(t *testing.T) {
	policy := mustPolicy(t)
	type known struct {
		money
		problem string
	}
	type change func(*invoice, *enrichment, *known)
	total := func(s string) change {
		return func(i *invoice, _ *enrichment, _ *known) { i.Total = euros(t, s) }
	}
	for _, tt := range []struct {
		name   string
		change change
		want   string // decision, who is asked, the rules that did not pass
	}{
		{"in order", total("4999.99"), "APPROVED"},
		{"at the first threshold", total("5000"), "ESCALATED to M. Ortega AP-001"},
		{"at the second threshold", total("50000"), "ESCALATED to M. Ortega AP-001"},
		{"above the second threshold", total("50000.01"), "ESCALATED to Ingrid Solheim (VP) AP-001"},
		{"at the order's amount", total("150000"), "ESCALATED to Ingrid Solheim (VP) AP-001"},
		{"above the order's amount", total("150000.01"), "REJECTED AP-001 AP-006"},
		{"order spent", func(_ *invoice, _ *enrichment, s *known) { s.money = euros(t, "149500") }, "REJECTED AP-006"},
		{"order just enough", func(_ *invoice, _ *enrichment, s *known) { s.money = euros(t, "149200") }, "APPROVED"},
		{"decisions unknown", func(_ *invoice, _ *enrichment, s *known) { s.problem = "denied" }, "REJECTED AP-006"},
		{"sanctioned", func(_ *invoice, e *enrichment, _ *known) { e.Vendor.Sanctions = "FLAGGED" }, "REJECTED AP-002"},
		{"sanctions unknown", func(_ *invoice, e *enrichment, _ *known) { e.Vendor.Sanctions = "" }, "REJECTED AP-002"},
		{"suspended", func(_ *invoice, e *enrichment, _ *known) { e.Vendor.Status = "SUSPENDED" }, "REJECTED AP-003"},
		{"vendor unknown", func(_ *invoice, e *enrichment, _ *known) { e.Vendor = nil }, "REJECTED AP-002 AP-003 AP-005"},
		{"came before", func(_ *invoice, e *enrichment, _ *known) { e.Earlier = []earlier{{RecordID: "a_1"}} }, "REJECTED AP-004"},
		{"not looked up", func(_ *invoice, e *enrichment, _ *known) { e.Searched = false }, "REJECTED AP-004"},
		{"no order named", func(i *invoice, e *enrichment, _ *known) { i.PurchaseOrder, e.Order = "", nil }, "REJECTED AP-005 AP-006"},
		{"order unknown", func(_ *invoice, e *enrichment, _ *known) { e.Order = nil }, "REJECTED AP-005 AP-006"},
		{"order of another vendor", func(_ *invoice, e *enrichment, _ *known) { e.Order.Vendor = "Other Ltd" }, "REJECTED AP-005"},
		{"order closed", func(_ *invoice, e *enrichment, _ *known) { e.Order.Status = "CLOSED" }, "REJECTED AP-005"},
		{"another currency", func(i *invoice, _ *enrichment, _ *known) { i.Currency = "USD" }, "REJECTED AP-005"},
		{"currency unknown", func(i *invoice, _ *enrichment, _ *known) { i.Currency = "" }, "REJECTED AP-005"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inv := &invoice{Vendor: "Brightwater", Number: "1", Currency: "EUR", Total: euros(t, "800"), PurchaseOrder: "PO-1"}
			en := &enrichment{
				RecordID: "brightwater_1", Searched: true,
				Vendor: &vendor{Name: "Brightwater GmbH", Status: "ACTIVE", Sanctions: "CLEAR"},
				Order:  &order{ID: "PO-1", Vendor: "Brightwater GmbH", Amount: euros(t, "150000"), Currency: "EUR", Manager: "M. Ortega", Status: "OPEN"},
			}
			var spent known
			tt.change(inv, en, &spent)
			d := judge(policy, inv, en, spent.money, spent.problem)
			got := d.outcome()
			for _, r := range d.Rules {
				if !r.Passed {
					got += " " + r.Rule
				}
			}
			if got != tt.want {
				t.Errorf("judge = %q, want %q\n%+v", got, tt.want, d.Rules)
			}
		})
	}
}

// TestPolicyIsRead: the numbers and the name are the document's.
func TestPolicyIsRead(t *testing.T) {
	text := strings.NewReplacer("50,000", "2,000", "5,000", "1,000", "Ingrid Solheim", "Rosa Vries").Replace(mustPolicy(t))
	p, err := readPolicy("You approve.\n\n[Context: Policy]\n" + text)
	if err != nil {
		t.Fatal(err)
	}
	if want := (policy{euros(t, "1000"), euros(t, "2000"), "Rosa Vries"}); p != want {
		t.Errorf("readPolicy = %+v, want %+v", p, want)
	}
}

func TestPolicyMissing(t *testing.T) {
	for _, tt := range []struct{ name, text string }{
		{"no policy", "You approve."},
		{"no thresholds", "AP-001 Amount. Ask somebody.\nAP-002"},
		{"wrong way round", "AP-001 Amount. Below 50,000 fine. Above 5,000 the vice president, Bo, decides.\n- AP-002"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := judge(tt.text, &invoice{Total: 1}, &enrichment{RecordID: "a_1"}, 0, "")
			if d.Decision != rejected || !strings.HasPrefix(d.Reason, "The policy cannot be applied: ") {
				t.Errorf("without a policy the decision is %s because %s", d.Decision, d.Reason)
			}
		})
	}
}

func TestRecordID(t *testing.T) {
	same := []string{
		recordID("Kestrel Office Supply Corp", "KOS-2026-0418"), recordID("KESTREL OFFICE SUPPLY, Corp.", "kos 2026 0418"),
		recordID("Kestrel Office Supply", "KOS/2026/0418"),
	}
	if diff := cmp.Diff([]string{"kestrel-office-supply_kos20260418", same[0], same[0]}, same); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if a, b := recordID("A B", "1"), recordID("A", "B1"); a == b {
		t.Errorf("two invoices have one id %s", a)
	}
	raw, err := json.Marshal(recordID("Ångström Labs AB", "№ 7/é"))
	if err != nil || strings.ContainsAny(string(raw), "/ ") {
		t.Errorf("id %s is no path segment (%v)", raw, err)
	}
}

func TestSameOrder(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"PO-4471", "po 4471", true},
		{"PO-4471", "4471", true},
		{"PO-2025-017", "PO/2025/017", true},
		{"PO-4471", "PO-447", false},
		{"PO-4471", "", false},
		{"PO-4471", "PO", false},
	} {
		if got := sameOrder(tt.a, tt.b); got != tt.want {
			t.Errorf("sameOrder(%q, %q) = %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}
