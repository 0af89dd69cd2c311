package visit

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

	"usher/venue/cli"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func asData(t *testing.T, scenes []scene) (report, error) {
	t.Helper()
	var out bytes.Buffer
	err := demo(t.Context(), scenes, cli.DemoOptions{Page: cli.NewPage(&out, false), JSON: true})
	var r report
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatalf("the output is no JSON: %v\n%s", err, out.Bytes())
		}
	}
	return r, err
}

func asText(t *testing.T, opts cli.DemoOptions) string {
	t.Helper()
	var out bytes.Buffer
	opts.Page = cli.NewPage(&out, false)
	if err := Demo(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestDemoAsData(t *testing.T) {
	r, err := asData(t, tell())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, sc := range r.Scenes {
		for _, st := range sc.Steps {
			got = append(got, st.Who+" "+st.Does+": "+st.Outcome)
		}
	}
	want := []string{
		"payer asks the bank what it is: done", "payer looks at what anybody may see: done",
		"payer asks for balance, and to transfer up to 500: waits", "payer reads the balance before it may: refused",
		"alice approves balance, and to transfer up to 100: done", "payer asks how it stands: done",
		"payer reads the balance: done", "payer transfers 80 to Initech: done", "payer transfers 400 to Initech: refused",
		"payer opens the statement, which it was not granted: refused", "payer closes the account, which Acme does not let it: denied",
		"payer asks to transfer up to 500: waits", "payer transfers 400 to Initech: refused", "alice approves it: done", "payer transfers 400 to Initech: done",
		"alice revokes the agent: done", "payer reads the balance: refused", "payer transfers 1 to Initech: refused",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if r.Balance != 520 || !r.Verified || r.Rows[0] < 20 || r.Rows[1] < 20 || len(r.Unexpected) != 0 {
		t.Errorf("the report ends as %d, %v, %v, %v", r.Balance, r.Rows, r.Verified, r.Unexpected)
	}
}

func TestDemoAsText(t *testing.T) {
	text := asText(t, cli.DemoOptions{})
	for _, want := range []string{
		"1. The agent finds the bank, and asks", "balance active, transfer active within {\"amount\":{\"max\":100}}", "403 constraint_violated: ",
		"Capability denied: v/ops/agentauth/execute requires invoke on agentauth/bank/close_account.", "The account had 1000, and has 520.",
		"as they were written.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the demo does not print %q", want)
		}
	}
	if n := strings.Count(text, "\n"); n >= 60 {
		t.Errorf("the demo prints %d lines, want fewer than 60", n)
	}
	if odd := regexp.MustCompile(`127\.0\.0\.1|UNEXPECTED|\x1b`).FindString(text); odd != "" {
		t.Errorf("the demo prints %q", odd)
	}
	rows := regexp.MustCompile(`\d+ rows of Acme and \d+`)
	if diff := cmp.Diff(rows.ReplaceAllString(text, ""), rows.ReplaceAllString(asText(t, cli.DemoOptions{}), "")); diff != "" {
		t.Errorf("two runs differ in more than the rows of their ledgers:\n%s", diff)
	}
}

// A story that comes out otherwise is noticed, and is an error.
func TestDemoNotices(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func([]scene)
		want   string
	}{
		{"Alice approves all", func(p []scene) {
			p[1].Steps[0] = answers("approves all", "approve", "balance", "transfer")
		}, "payer transfers 400 to Initech: done , want refused constraint_violated"},
		{"Alice denies", func(p []scene) { p[1].Steps[0] = answers("denies", "deny") }, "payer reads the balance: refused"},
		{"Alice approves no more", func(p []scene) { p[3].Steps = slices.Delete(p[3].Steps, 2, 3) }, "the account has 920, want 520"},
		{"nothing is revoked", func(p []scene) { p[4].Steps = p[4].Steps[1:] }, "payer reads the balance: done , want refused agent_revoked"},
		{"a refusal for another reason", func(p []scene) { p[2].Steps[2].says = "agent_expired" }, "want refused agent_expired"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := tell()
			tt.change(p)
			r, err := asData(t, p)
			if !errors.Is(err, errUnexpected) || !strings.Contains(strings.Join(r.Unexpected, "\n"), tt.want) {
				t.Errorf("demo = %v with %q, want %q", err, r.Unexpected, tt.want)
			}
		})
	}
}

func TestDemoTakesNoUsedFolder(t *testing.T) {
	dir := t.TempDir()
	asText(t, cli.DemoOptions{Dir: dir})
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
		{"text", []string{"demo", "agentauth"}, cli.ExitOK, "5. Alice revokes it"},
		{"data", []string{"demo", "agentauth", "--json"}, cli.ExitOK, `"unexpected": []`},
		{"an invoice", []string{"demo", "agentauth", "--invoice", "-"}, cli.ExitMisuse, ""},
		{"a model", []string{"demo", "agentauth", "--model", "default"}, cli.ExitMisuse, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, notes bytes.Buffer
			p := &cli.Program{Demos: map[string]cli.Demo{"agentauth": Demo}, Stdin: strings.NewReader("x"), Stdout: &out, Stderr: &notes}
			if got := p.Run(t.Context(), tt.args); got != tt.status || !strings.Contains(out.String(), tt.out) {
				t.Errorf("usher %q = %d, want %d and %q\n%s", tt.args, got, tt.status, tt.out, notes.String())
			}
		})
	}
}
