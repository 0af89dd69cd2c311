package delegation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"usher/ucan"
	"usher/venue/cli"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func asData(t *testing.T, st story) (report, error) {
	t.Helper()
	var out bytes.Buffer
	err := demo(t.Context(), st, cli.DemoOptions{Page: cli.NewPage(&out, false), JSON: true})
	var r report
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatalf("the output is no JSON: %v\n%s", err, out.Bytes())
		}
	}
	return r, err
}

func asText(t *testing.T, colour bool, opts cli.DemoOptions) string {
	t.Helper()
	var out bytes.Buffer
	opts.Page = cli.NewPage(&out, colour)
	if err := Demo(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// outcomes is who came to what.
func outcomes(list []step) []string {
	var out []string
	for _, st := range list {
		out = append(out, st.Agent+" "+st.Does+": "+st.Outcome)
	}
	return out
}

func TestDemoAsData(t *testing.T) {
	r, err := asData(t, tell())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name      string
		got, want []string
	}{
		{"work", outcomes(r.Scenes[work].Steps), []string{
			"carrier copies alice's S-1042 to bob's trips: allowed", "carrier sets S-1042 to loaded on truck 7: allowed",
			"carrier reads the next shipment: denied", "carrier reads its own owner's rates: denied", "auditor writes what it may read: denied",
		}},
		{"widenings", outcomes(r.Scenes[widen].Steps), []string{
			"carrier hands the auditor all shipments, and holds one: refused", "carrier hands the auditor 48 hours, and holds 24: refused",
			"auditor hands bob writing, and holds reading: refused",
		}},
		{"revocation", outcomes(r.Scenes[end].Steps), []string{
			"auditor reads the status: allowed", "broker revokes its link to the carrier: allowed", "auditor reads it again: denied",
			"carrier sets S-1042 to delivered: denied", "carrier notes the driver in bob's trip: allowed", "broker reads the status: allowed",
		}},
		{"unexpected", r.Unexpected, []string{}},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}

	var links []string
	cids, names := make(map[string]bool), make(map[string]string)
	for _, m := range r.Cast {
		if names[m.DID] = m.Name; !strings.HasPrefix(m.DID, "did:key:z6Mk") {
			t.Errorf("the DID of %s is not in full: %s", m.Name, m.DID)
		}
	}
	for _, c := range r.Chains {
		for _, l := range c {
			links = append(links, names[l.Issuer]+" to "+names[l.Audience])
			cids[l.CID] = true
		}
	}
	want := []string{"alice to broker", "broker to carrier", "carrier to auditor", "bob to carrier"}
	if diff := cmp.Diff(want, links); diff != "" {
		t.Errorf("chains (-want +got):\n%s", diff)
	}
	// The copy rests on two chains, one for each owner; the first read of the
	// auditor on three tokens, the second on none.
	var depths [][]int
	for _, row := range append(r.Scenes[work].Steps, r.Scenes[end].Steps...) {
		var depth []int
		for _, n := range row.Needs {
			depth = append(depth, len(n.Proofs))
			for _, cid := range n.Proofs {
				if !cids[cid] {
					t.Errorf("row %d rests on %s, which is no token of the chains", row.Row, cid)
				}
			}
		}
		depths = append(depths, depth)
	}
	if diff := cmp.Diff([][]int{{2, 1}, {2}, {0}, {0}, {0}, {3}, {0}, {0}, {0}, {1}, {1}}, depths); diff != "" {
		t.Errorf("lengths of the chains in the ledger (-want +got):\n%s", diff)
	}
	again := r.Scenes[end].Steps[2]
	if revoked := r.Chains[0][1].CID; !strings.Contains(again.Reason, ucan.ErrRevoked.Error()) || !strings.Contains(again.Reason, revoked) {
		t.Errorf("the ledger's reason is %q, want that %s is revoked", again.Reason, revoked)
	}
	if strings.Contains(r.Scenes[end].Steps[2].Words, "revoked") {
		t.Errorf("the auditor is told %q, want no reason", r.Scenes[end].Steps[2].Words)
	}
	if !r.Verified || r.Rows < 30 {
		t.Errorf("the ledger has %d rows, verified %v", r.Rows, r.Verified)
	}
	if !strings.Contains(r.Told[0], "crud on ") || r.Told[1] != "" {
		t.Errorf("the prompts say %q", r.Told)
	}
}

func TestDemoAsText(t *testing.T) {
	text := asText(t, false, cli.DemoOptions{})
	for _, want := range []string{
		"└─ auditor of bob  crud/read on alice/w/shipments/S-1042/status  until ",
		"| - crud on alice/w/shipments/S-1042 (from alice, until ",
		"Capability denied: v/ops/covia/read requires crud/read on alice/w/shipments/S-1043. Your capabilities are: crud on alice/w/shipments/S-1042.\n",
		"delegation is wider than what the issuer holds: crud/read on alice/w/shipments/:", "delegation lives longer than its proof",
		"crud/write on alice/w/shipments/S-1042/status  token is revoked (token …", "rows of its ledger, and they are as they were written.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the demo does not print %q", want)
		}
	}
	if n := strings.Count(text, "\n"); n >= 60 {
		t.Errorf("the demo prints %d lines, want fewer than 60", n)
	}
	if long := regexp.MustCompile(`did:key:z\w{6,}|baf\w{6,}|\x1b|UNEXPECTED`).FindString(text); long != "" {
		t.Errorf("the demo prints %q", long)
	}
	changing := regexp.MustCompile(`…\w+|\d{4}-\d\d-\d\d[T ][\d:]+Z`)
	if diff := cmp.Diff(changing.ReplaceAllString(text, "…"), changing.ReplaceAllString(asText(t, false, cli.DemoOptions{}), "…")); diff != "" {
		t.Errorf("two runs differ in more than keys and times:\n%s", diff)
	}
	colour := regexp.MustCompile("\x1b\\[[0-9;]*m")
	painted := asText(t, true, cli.DemoOptions{})
	if plain := colour.ReplaceAllString(painted, ""); painted == plain ||
		changing.ReplaceAllString(plain, "…") != changing.ReplaceAllString(text, "…") {
		t.Error("with colour the demo prints another text, or no colour")
	}
}

// TestDemoNotices: a story that comes out otherwise is noticed, and is an error.
func TestDemoNotices(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*story)
		want   string
	}{
		{"nothing is revoked", func(p *story) { p.scenes[end].Steps = slices.Delete(p.scenes[end].Steps, 1, 2) }, "auditor reads it again: allowed, want denied"},
		{"the leaf alone is revoked", func(p *story) {
			p.scenes[end].Steps[1] = revokes("carrier", "revokes its link to the auditor", toAuditor).inTurn()
		}, "carrier sets S-1042 to delivered: allowed, want denied"},
		{"the carrier gets the folder", func(p *story) { p.links[toCarrier].on = shipments }, "carrier reads the next shipment: allowed, want denied"},
		{"the auditor may write", func(p *story) { p.links[toAuditor].can = "crud" }, "auditor writes what it may read: allowed, want denied"},
		{"the carrier gets nothing of bob's", func(p *story) { p.links[fromBob].on = rates }, "carrier copies alice's S-1042 to bob's trips: denied, want allowed"},
		{"a link that is too wide", func(p *story) { p.links[toAuditor].on = shipments }, "carrier delegates to auditor: refused, want allowed delegate: " + ucan.ErrNotHeld.Error()},
		{"a link that lives too long", func(p *story) { p.links[toCarrier].life = "96h" }, ucan.ErrTimeBounds.Error()},
		{"a user who has nothing to give", func(p *story) { p.links[fromBob].on = sibling }, "bob delegates to carrier"},
		{"a widening that is none", func(p *story) {
			p.scenes[widen].Steps[0] = handOn("hands on what it holds", link{"carrier", "auditor", "crud/read", status, "1h"}).wantRefusal(ucan.ErrNotHeld)
		}, "hands on what it holds: allowed, want refused"},
		{"a refusal for another reason", func(p *story) { p.scenes[widen].Steps[0].why = ucan.ErrExpired }, "hands the auditor all shipments, and holds one: the reason is"},
		{"a denial for another reason", func(p *story) { p.scenes[end].Steps[2].why = ucan.ErrExpired }, "auditor reads it again: the reason is"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := tell()
			tt.change(&p)
			r, err := asData(t, p)
			if !errors.Is(err, errUnexpected) {
				t.Fatalf("demo = %v, want %v", err, errUnexpected)
			}
			if said := strings.Join(append(r.Unexpected, err.Error()), "\n"); !strings.Contains(said, tt.want) {
				t.Errorf("unexpected is %q, want %q in it", said, tt.want)
			}
		})
	}
}

func TestDemoPrintsWhatIsUnexpected(t *testing.T) {
	p := tell()
	p.scenes[end].Steps = slices.Delete(p.scenes[end].Steps, 1, 2)
	var out bytes.Buffer
	err := demo(t.Context(), p, cli.DemoOptions{Page: cli.NewPage(&out, false)})
	if !errors.Is(err, errUnexpected) || !strings.Contains(out.String(), "UNEXPECTED auditor reads it again: allowed, want denied") {
		t.Errorf("demo = %v and prints\n%s", err, out.String())
	}
}

func TestDemoTakesNoInvoice(t *testing.T) {
	err := Demo(t.Context(), cli.DemoOptions{Invoice: strings.NewReader("x"), Page: cli.NewPage(new(bytes.Buffer), false)})
	if err == nil || !strings.Contains(err.Error(), "takes no invoice") {
		t.Errorf("Demo = %v, want a refusal of the invoice", err)
	}
}

func TestDemoTakesNoModel(t *testing.T) {
	err := Demo(t.Context(), cli.DemoOptions{Model: "default", Page: cli.NewPage(new(bytes.Buffer), false)})
	if err == nil || !strings.Contains(err.Error(), "usher demo ap --model default") {
		t.Errorf("Demo = %v, want a refusal of the model", err)
	}
}

func TestDemoTakesNoUsedFolder(t *testing.T) {
	dir := t.TempDir()
	asText(t, false, cli.DemoOptions{Dir: dir})
	if err := Demo(t.Context(), cli.DemoOptions{Dir: dir, Page: cli.NewPage(new(bytes.Buffer), false)}); err == nil || !strings.Contains(err.Error(), "give an empty folder") {
		t.Errorf("Demo on a used folder = %v, want a refusal", err)
	}
}

func TestDemoStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Demo(ctx, cli.DemoOptions{Page: cli.NewPage(new(bytes.Buffer), false)}); !errors.Is(err, context.Canceled) {
		t.Errorf("Demo = %v, want %v", err, context.Canceled)
	}
}

func TestCommand(t *testing.T) {
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		out    string
	}{
		{"text", []string{"demo", "delegation"}, cli.ExitOK, "5. The middle link is revoked"},
		{"data", []string{"demo", "delegation", "--json"}, cli.ExitOK, `"unexpected": []`},
		{"an invoice", []string{"demo", "delegation", "--invoice", "-"}, cli.ExitMisuse, ""},
		{"a model", []string{"demo", "delegation", "--model", "default"}, cli.ExitMisuse, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, notes bytes.Buffer
			p := &cli.Program{Demos: map[string]cli.Demo{"delegation": Demo}, Stdin: strings.NewReader("x"), Stdout: &out, Stderr: &notes}
			if got := p.Run(t.Context(), tt.args); got != tt.status || !strings.Contains(out.String(), tt.out) {
				t.Errorf("usher %q = %d, want %d and %q\n%s", tt.args, got, tt.status, tt.out, notes.String())
			}
		})
	}
}
