package ap

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"

	"usher/caps"
	"usher/runtime"
	"usher/venue"
	"usher/venue/cli"
)

func TestProvidersTakeNoSettings(t *testing.T) {
	for name := range Providers() {
		cfg := runtime.ModelConfig{Name: "m", Provider: name}
		if _, err := Providers().Model(t.Context(), cfg); err != nil {
			t.Errorf("provider %s: %v", name, err)
		}
		cfg.Settings = map[string]any{"temperature": 1}
		if _, err := Providers().Model(t.Context(), cfg); err == nil {
			t.Errorf("provider %s takes a setting that it does not have", name)
		}
	}
}

// TestProgramAsksOnce: a program goes on from the results in the conversation
// and asks for nothing twice.
func TestProgramAsksOnce(t *testing.T) {
	p := program(func(t *turn) any {
		for _, path := range []string{"w/a", "w/b"} {
			_, _ = call[any](t, "covia_read", object{"path": path})
		}
		return "done"
	})
	messages := []runtime.Message{{Role: runtime.RoleUser, Text: "go"}}
	var asked []string
	for range 5 {
		var text string
		var calls []runtime.ToolCall
		for chunk, err := range p.Generate(t.Context(), &runtime.Request{Messages: messages}) {
			if err != nil {
				t.Fatal(err)
			}
			text += chunk.Text
			if c := chunk.Call; c != nil {
				calls = append(calls, runtime.ToolCall{ID: c.Arguments, Name: c.Name, Arguments: c.Arguments})
			}
		}
		if text != "" {
			break
		}
		messages = append(messages, runtime.Message{Role: runtime.RoleAssistant, Calls: calls})
		for _, c := range calls {
			asked = append(asked, c.Arguments)
			messages = append(messages, runtime.Message{Role: runtime.RoleTool, CallID: c.ID, Name: c.Name, Text: `{"error":"failed","message":"no"}`})
		}
	}
	if got, want := strings.Join(asked, " "), `{"path":"w/a"} {"path":"w/b"}`; got != want {
		t.Errorf("the program asked for %s, want %s", got, want)
	}
}

// TestEnricherWithoutCapabilities: what Bob may not look up has not passed, and
// he says why instead of asking again.
func TestEnricherWithoutCapabilities(t *testing.T) {
	for _, tt := range []struct {
		name, without, problem, rule string
	}{
		{"vendors", "w/vendor-records/", "w/vendor-records could not be read: Capability denied", "AP-003"},
		{"orders", "w/purchase-orders/", "w/purchase-orders could not be read: Capability denied", "AP-005"},
		{"invoices", "w/invoices/", "could not be read: Capability denied", "AP-004"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := mustConfig(t)
			for i, a := range cfg.Agents {
				if a.ID != "Bob" {
					continue
				}
				var left []caps.Capability
				set, _ := a.Caps.Set()
				for c := range set.All() {
					if c.With() != tt.without {
						left = append(left, c)
					}
				}
				cfg.Agents[i].Caps = caps.Declare(caps.Of(left...))
			}
			own, err := files.ReadFile("invoices/3-brightwater-hosting.txt")
			if err != nil {
				t.Fatal(err)
			}
			s, err := runDemo(t, cfg, cli.DemoOptions{Invoice: bytes.NewReader(own), InvoiceName: "x"})
			if err != nil {
				t.Fatal(err)
			}
			p := s.Invoice
			if len(p.Enrichment.Problems) != 1 || !strings.Contains(p.Enrichment.Problems[0], tt.problem) {
				t.Errorf("problems are %q, want one with %q", p.Enrichment.Problems, tt.problem)
			}
			if p.Decision.Decision != rejected || !strings.Contains(p.Decision.Reason, tt.rule) {
				t.Errorf("decision is %s because %s, want %s by %s", p.Decision.Decision, p.Decision.Reason, rejected, tt.rule)
			}
		})
	}
}

// TestPolicyChangesDecisions: the approver goes by the document as it is stored
// at the time.
func TestPolicyChangesDecisions(t *testing.T) {
	h := openHouse(t)
	own, err := files.ReadFile("invoices/3-brightwater-hosting.txt")
	if err != nil {
		t.Fatal(err)
	}
	stricter := strings.ReplaceAll(mustPolicy(t), "5,000", "500")
	if _, err := h.user.Invoke(t.Context(), "covia:write", object{"path": "w/docs/policy", "value": stricter}); err != nil {
		t.Fatal(err)
	}
	p, err := h.process(t.Context(), string(own))
	if err != nil {
		t.Fatal(err)
	}
	if p.Decision.Decision != escalated || p.Decision.EscalateTo != "Daniel Achterberg" {
		t.Errorf("800 above a threshold of 500 is %s, want %s", p.Decision.Decision, escalated)
	}
}

// TestOrderIsUsedUp: what was approved or escalated on an order counts
// together, what was rejected does not.
func TestOrderIsUsedUp(t *testing.T) {
	h := openHouse(t)
	for _, step := range []struct{ number, total, want string }{
		{"1", "5,100.00", escalated},
		{"1", "5,100.00", rejected}, // came before
		{"2", "4,900.00", approved},
		{"3", "10,000.00", escalated}, // 20,000 in all, which is the order's amount
		{"4", "100.00", rejected},
	} {
		p, err := h.process(t.Context(), "Invoice: KOS-"+step.number+"\nFrom: Kestrel Office Supply Corp\nTotal: USD "+step.total+"\nPO: PO-4471")
		if err != nil {
			t.Fatal(err)
		}
		if p.Decision.Decision != step.want {
			t.Errorf("invoice %s over %s is %s (%s), want %s", step.number, step.total, p.Decision.Decision, p.Decision.Reason, step.want)
		}
	}
}

// TestUnrecordedIsNotApproved: a decision counts once it is recorded.
func TestUnrecordedIsNotApproved(t *testing.T) {
	cfg := mustConfig(t)
	for i, a := range cfg.Agents {
		if a.ID == "Carol" {
			cfg.Agents[i].Caps = caps.Declare(caps.Of(caps.MustCapability("w/", "crud/read")))
		}
	}
	own, err := files.ReadFile("invoices/3-brightwater-hosting.txt")
	if err != nil {
		t.Fatal(err)
	}
	s, err := runDemo(t, cfg, cli.DemoOptions{Invoice: bytes.NewReader(own), InvoiceName: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if d := s.Invoice.Decision; d.Decision != rejected || d.Recorded || !strings.Contains(d.Reason, "Capability denied: ") {
		t.Errorf("decision is %s, recorded %v, because %s; want it rejected with the denial", d.Decision, d.Recorded, d.Reason)
	}
}

// TestManyAtOnce: invoices that are processed side by side do not disturb one
// another.
func TestManyAtOnce(t *testing.T) {
	h := openHouse(t)
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			text := strings.ReplaceAll("Invoice: BW-N\nFrom: Brightwater Systems GmbH\nTotal: EUR 100.00\nPO: PO-2025-017", "N", string(rune('1'+i)))
			p, err := h.process(t.Context(), text)
			if err == nil && p.Decision.Decision != approved {
				err = errors.New(p.Decision.Decision + ": " + p.Decision.Reason)
			}
			errs[i] = err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

func openHouse(t *testing.T) *house {
	t.Helper()
	cfg := mustConfig(t)
	v, err := venue.Open(t.Context(), &venue.Options{Config: cfg, Providers: Providers()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	user, err := v.User(t.Context(), cfg.User)
	if err != nil {
		t.Fatal(err)
	}
	return &house{v: v, user: user}
}
