package ap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"usher/caps"
	"usher/venue/cli"
	"usher/venue/config"
	"usher/venue/venuetest"
)

func TestMain(m *testing.M) {
	venuetest.CollectLess()
	goleak.VerifyTestMain(m)
}

func runDemo(t *testing.T, cfg *config.Config, opts cli.DemoOptions) (report, error) {
	t.Helper()
	var out bytes.Buffer
	opts.Page, opts.JSON, opts.Notes = cli.NewPage(&out, false), true, io.Discard
	err := demo(t.Context(), cfg, opts)
	var s report
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &s); err != nil {
			t.Fatalf("the output is no JSON: %v\n%s", err, out.Bytes())
		}
	}
	return s, err
}

func mustConfig(t *testing.T) *config.Config {
	t.Helper()
	cfg, err := config.LoadFS(files, "usher.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestDemo(t *testing.T) {
	s, err := runDemo(t, mustConfig(t), cli.DemoOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range s.Invoices {
		got = append(got, p.Extraction.Total.String()+" "+p.Decision.outcome())
	}
	want := []string{
		"15600.00 ESCALATED to Marisol Ortega", "6500.00 REJECTED", "800.00 APPROVED",
		"75500.00 ESCALATED to Ingrid Solheim (VP)", "12000.00 REJECTED", "15600.00 REJECTED",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	refused := 0
	for _, a := range s.Attempts {
		if a.Outcome == denied {
			refused++
			if !strings.HasPrefix(a.Words, "Capability denied: ") || !strings.Contains(a.Words, "Your capabilities are: ") {
				t.Errorf("%s: words are %q, want a denial", a.What, a.Words)
			}
		}
	}
	if refused != 25 || len(s.Attempts) != 31 {
		t.Errorf("%d of %d attempts were denied, want 25 of 31", refused, len(s.Attempts))
	}
	if !s.Unchanged || !s.Audit.Verified || s.Audit.Signed != s.Audit.Rows || s.Audit.Denied != 25 || len(s.Unexpected) > 0 {
		t.Errorf("unchanged %v, audit %+v, unexpected %v", s.Unchanged, s.Audit, s.Unexpected)
	}
}

func TestDemoText(t *testing.T) {
	var out bytes.Buffer
	if err := Demo(t.Context(), cli.DemoOptions{Page: cli.NewPage(&out, false)}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"ESCALATED to Marisol Ortega", "AP-002: the sanctions check of Corvane Trading LLC says FLAGGED", "AP-004: came before as w/invoices/",
		"Capability denied: v/ops/covia/write requires crud/write on w/decisions/forged. Your capabilities are: agent/message on g/, agent/request on g/, crud/read on w/. Retrying the same call will not succeed — the denial is structural.",
		"All are as they were written.\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the demo does not print %q", want)
		}
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("the demo colours its output though it was not asked to")
	}
}

// TestDemoNotices: a capability too many is noticed, and is an error.
func TestDemoNotices(t *testing.T) {
	for i, tt := range []struct {
		name, agent string
		more        caps.Capability
		want        string
	}{
		{"Eddie may write decisions", "Eddie", caps.MustCapability("w/decisions/forged", "crud/write"), "Eddie could write a forged decision"},
		{"Dave may write vendors", "Dave", caps.MustCapability("w/vendor-records", "crud/write"), "Dave could write a vendor record himself"},
		{"Dave may create and hand on", "Dave", caps.MustCapability("w/", "crud"), "Dave could"},
		{"Eddie may read agents", "Eddie", caps.MustCapability("g/", "crud/read"), "read Carol's record"},
	} {
		if testing.Short() && i%2 != 0 {
			continue // each is a whole demo
		}
		t.Run(tt.name, func(t *testing.T) {
			cfg := mustConfig(t)
			for i, a := range cfg.Agents {
				if a.ID == tt.agent {
					set, _ := a.Caps.Set()
					cfg.Agents[i].Caps = caps.Declare(caps.Of(append(slices.Collect(set.All()), tt.more)...))
				}
			}
			s, err := runDemo(t, cfg, cli.DemoOptions{})
			if !errors.Is(err, errUnexpected) {
				t.Fatalf("demo: %v, want %v", err, errUnexpected)
			}
			if !strings.Contains(strings.Join(s.Unexpected, "\n"), tt.want) {
				t.Errorf("unexpected is %q, want %q in it", s.Unexpected, tt.want)
			}
		})
	}
}

const foreign = `Vendor: Stanhope Bindery Ltd
Invoice: ST-77
Date: 2 April 2026
Total: £1,250.00
Terms: payable within 14 days
Purchase order: PO-31
`

func TestDemoInvoice(t *testing.T) {
	s, err := runDemo(t, mustConfig(t), cli.DemoOptions{Invoice: strings.NewReader(foreign), InvoiceName: "foreign.txt"})
	if err != nil {
		t.Fatal(err)
	}
	e, d := s.Invoice.Extraction, s.Invoice.Decision
	got := []string{e.Vendor, e.Number, e.Date, e.Currency, e.Total.String(), e.Terms, e.PurchaseOrder, d.Decision}
	want := []string{"Stanhope Bindery Ltd", "ST-77", "2 April 2026", "GBP", "1250.00", "payable within 14 days", "PO-31", rejected}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(s.Attempts) > 0 || s.Audit.Rows == 0 {
		t.Errorf("%d attempts and %d audit rows, want none and some", len(s.Attempts), s.Audit.Rows)
	}
}

func TestDemoRefuses(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"no invoice", "Pancakes: 250 g flour, 2 eggs.", "note.txt: this is not an invoice that can be processed: it names no vendor"},
		{"nothing", "", "note.txt: this is not an invoice"},
		{"no total", "Invoice: 7\nFrom: Bluebell Florists", "it asks for no total"},
		{"another layout", "Invoice 7 from Bluebell Florists over EUR 80.", "Write it as JSON, or with a label on each line:\n\n  Vendor: "},
		{"too long", strings.Repeat("x", maxInvoice+1), "it has more than 65536 bytes"},
		{"a picture", "\x89PNG\x00\x01", "note.txt: it is not plain text"},
		{"another encoding", "Total: \xa380", "give the invoice as text in UTF-8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := runDemo(t, mustConfig(t), cli.DemoOptions{Invoice: strings.NewReader(tt.text), InvoiceName: "note.txt"})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("demo: %v, want %q", err, tt.want)
			}
			if s.Invoice != nil || s.Failure == nil || s.Failure.At != "note.txt" || s.Failure.At+": "+s.Failure.Words != err.Error() {
				t.Errorf("demo shows %+v, failure %+v, want the failure alone", s.Invoice, s.Failure)
			}
		})
	}
}

// TestDemoRemembers: with a data folder, an invoice that comes again in another
// run is a repeated one, and the first stays as it was.
func TestDemoRemembers(t *testing.T) {
	dir := t.TempDir()
	var first, second report
	for i, s := range []*report{&first, &second} {
		text := foreign
		if i == 1 {
			text = strings.NewReplacer("ST-77", "ST 77", "Ltd", "LIMITED", "1,250.00", "9,999.00").Replace(foreign)
		}
		var err error
		if *s, err = runDemo(t, mustConfig(t), cli.DemoOptions{Dir: dir, Invoice: strings.NewReader(text), InvoiceName: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if first.Invoice.Decision.Record == second.Invoice.Decision.Record {
		t.Errorf("both decisions are at %s", first.Invoice.Decision.Record)
	}
	earlier := second.Invoice.Enrichment.Earlier
	if len(earlier) != 1 || earlier[0].Total != 1250.0 {
		t.Errorf("earlier invoices are %+v, want the first one as it was", earlier)
	}
	if !strings.Contains(second.Invoice.Decision.Reason, "AP-004") {
		t.Errorf("reason is %q, want AP-004", second.Invoice.Decision.Reason)
	}
	if _, err := runDemo(t, mustConfig(t), cli.DemoOptions{Dir: dir}); err == nil || !strings.Contains(err.Error(), "give an empty folder") {
		t.Errorf("demo on a used folder: %v, want a refusal", err)
	}
}

func TestDemoStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Demo(ctx, cli.DemoOptions{Page: cli.NewPage(io.Discard, false)}); !errors.Is(err, context.Canceled) {
		t.Errorf("Demo = %v, want %v", err, context.Canceled)
	}
}
