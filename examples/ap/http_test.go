package ap

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/caps"
	"usher/prompt"
	"usher/runtime"
	"usher/venue/cli"
)

// command runs `usher demo` with the department's program.
func command(t *testing.T, args ...string) (status int, out, notes string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	p := &cli.Program{
		Providers: Providers(), Demos: map[string]cli.Demo{"ap": Demo},
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
	}
	status = p.Run(t.Context(), append([]string{"demo"}, args...))
	return status, stdout.String(), stderr.String()
}

func commandJSON(t *testing.T, args ...string) (s report, status int, notes string) {
	t.Helper()
	status, out, notes := command(t, append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatalf("status %d, the output is no JSON: %v\n%s%s", status, err, out, notes)
	}
	return s, status, notes
}

// TestDemoOverHTTP: the whole demo through the provider and HTTP comes out as
// it does with the programs themselves.
func TestDemoOverHTTP(t *testing.T) {
	e := serve(t, theirs(t, mustConfig(t)))
	over, status, notes := commandJSON(t, "--model", "local", "-c", e.configuration(", fallback: instructions"))
	if status != cli.ExitOK {
		t.Fatalf("status %d:\n%s", status, notes)
	}
	direct, status, notes := commandJSON(t)
	if status != cli.ExitOK {
		t.Fatalf("status %d:\n%s", status, notes)
	}
	j := over.Judgement
	over.Judgement = nil
	over.Audit = audit{} // the usage is asked for, too
	for _, r := range []*report{&over, &direct} {
		for i := range r.Attempts {
			r.Attempts[i].Input = nil // it may name the user's DID
		}
	}
	direct.Audit = over.Audit
	if diff := cmp.Diff(direct, over); diff != "" {
		t.Errorf("over HTTP it comes out otherwise (-direct +HTTP):\n%s", diff)
	}
	if j == nil || j.wrong() != 0 || len(j.Invoices) != 6 || len(j.Problems)+len(j.Denied) > 0 {
		t.Errorf("judgement is %+v", j)
	}
	if strings.Contains(notes, key) {
		t.Error("the notes show the key")
	}
	e.checkSeen(t, j.Usage)
}

// checkSeen looks whether each request was made as the agent's mandate demands,
// and whether what the report counts is what the server gave.
func (e *loopback) checkSeen(t *testing.T, reported []used) {
	t.Helper()
	read := caps.MustCapability("w/", "crud/read")
	const complete, fail = "agent_completeTask", "agent_failTask"
	want := map[string][]string{
		"Alice": {complete, fail}, // these three work on tasks
		"Bob":   {"covia_read", "covia_slice", "covia_write", complete, fail},
		"Carol": {"covia_read", "covia_list", "covia_slice", "covia_write", complete, fail},
		"Dave":  {"covia_read", "covia_list", "covia_slice", "grid_run", "agent_message", "agent_request", "agent_create", "o_register-vendor"},
	}
	held := make(map[string]caps.Set)
	for _, a := range e.cfg.Agents {
		held[a.ID], _ = a.Caps.Set()
	}
	total := make(map[string]*used)
	for _, got := range e.seen {
		if got.Authorization != "Bearer "+key {
			t.Errorf("Authorization is %q", got.Authorization)
		}
		tools, set := want[got.Agent], held[got.Agent]
		if got.Agent == "Carol" && got.ByAgent { // by Eddie, who may read
			tools, set = []string{"covia_read", "covia_list", "covia_slice", complete, fail}, caps.Of(read)
		}
		if diff := cmp.Diff(tools, got.Tools); diff != "" {
			t.Errorf("tools offered to %s (-want +got):\n%s", got.Agent, diff)
		}
		if !strings.HasSuffix(got.System, "\n\n"+prompt.Disclosure(set)) {
			t.Errorf("the system message of %s does not end with its capabilities:\n%s", got.Agent, got.System)
		}
		if strings.Contains(got.System, key) {
			t.Errorf("the key is in the system message of %s", got.Agent)
		}
		if got.ByAgent {
			continue // one of the attempts
		}
		if total[got.Agent] == nil {
			total[got.Agent] = &used{Agent: got.Agent} // the model has no price
		}
		sum := &total[got.Agent].Spent
		sum.Calls, sum.Tokens = sum.Calls+1, sum.Tokens+int64(got.Usage.Input+got.Usage.Output)
	}
	var sums []used
	for _, id := range []string{"Alice", "Bob", "Carol", "Dave"} {
		if total[id] == nil {
			t.Fatalf("%s asked for nothing", id)
		}
		sums = append(sums, *total[id])
	}
	if diff := cmp.Diff(append(sums, used{Agent: "Eddie"}), reported); diff != "" {
		t.Errorf("usage (-served +reported):\n%s", diff)
	}
	if !slices.ContainsFunc(e.seen, func(a asked) bool { return a.Agent == "Carol" && a.ByAgent }) {
		t.Error("Eddie's task never reached Carol's model")
	}
}

func TestDemoOverHTTPText(t *testing.T) {
	if testing.Short() {
		t.Skip("the text is tested without HTTP, and what comes over HTTP as JSON")
	}
	e := serve(t, theirs(t, mustConfig(t)))
	status, out, notes := command(t, "ap", "--model", "local", "-c", e.configuration(", fallback: instructions"))
	if status != cli.ExitOK {
		t.Fatalf("status %d:\n%s", status, notes)
	}
	for _, want := range []string{
		"the model local behind all but Eddie", "a model that declines to attack proves nothing about the gate",
		"ESCALATED to Marisol Ortega", "6 of 6 as the policy demands", "Data, operations and mandates are as they were.",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the demo does not print %q:\n%s", want, out)
		}
	}
	if !strings.Contains(notes, "invoice 1-kestrel") {
		t.Errorf("the notes do not tell what runs:\n%s", notes)
	}
}

// TestDemoOverHTTPInvoice: somebody's own invoice, with a model behind that
// reaches beyond its mandate.
func TestDemoOverHTTPInvoice(t *testing.T) {
	brains := theirs(t, mustConfig(t))
	brains["Bob"] = reaching([]runtime.CallDelta{{Name: "covia_write", Arguments: `{"path":"w/docs/policy","value":"x"}`}}, enrich)
	e := serve(t, brains)
	file := filepath.Join(t.TempDir(), "invoice.txt")
	if err := os.WriteFile(file, []byte(foreign), 0o600); err != nil {
		t.Fatal(err)
	}
	s, status, notes := commandJSON(t, "--model", "local", "-c", e.configuration(", fallback: instructions"), "--invoice", file)
	if status != cli.ExitOK || s.Invoice.Decision.Decision != rejected || len(s.Judgement.Usage) != 5 {
		t.Errorf("status %d, decision %+v, judgement %+v\n%s", status, s.Invoice, s.Judgement, notes)
	}
	if want := []refusal{{"Bob", "v/ops/covia/write", "crud/write", "w/docs/policy", 1}}; !cmp.Equal(want, s.Judgement.Denied) {
		t.Errorf("denied %+v, want %+v", s.Judgement.Denied, want)
	}
}

// TestDemoMisuse: what is wrong with the arguments is told, with exit 2.
func TestDemoMisuse(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	two := write("two.yaml", "models: {local: {provider: offline}, remote: {provider: offline}}\n")
	none := write("none.yaml", "name: x\n")
	t.Chdir(dir)
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"unknown", []string{"--model", "locl", "-c", two}, `has no model "locl"; did you mean local? there are: local, remote`},
		{"far off", []string{"--model", "something", "-c", two}, `has no model "something"; there are: local, remote`},
		{"none there", []string{"--model", "local", "-c", none}, `has no model "local", nor any other`},
		{"no configuration", []string{"--model", "local"}, "there is no configuration usher.yaml: name one with -c, or make a project with usher init"},
		{"configuration alone", []string{"-c", two}, "add --model NAME, or leave -c out"},
		{"no name", []string{"--model", "", "-c", two}, "--model names no model: give the name of one"},
		{"no invoice", []string{"--invoice", ""}, "open : no such file or directory"},
		{"a folder", []string{"--invoice", dir}, "is a folder: name a file in it"},
		{"no such invoice", []string{"--invoice", "nowhere.txt"}, "nowhere.txt: no such file"},
		{"no such demo", []string{"injection"}, `there is no demo "injection"; there are: ap`},
		{"a demo by its title", []string{"AP"}, `there is no demo "AP"; there are: ap`},
		{"an invoice as the demo", []string{"two.yaml"}, "to process an invoice, name it with --invoice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, out, notes := command(t, tt.args...)
			if status != cli.ExitMisuse || !strings.Contains(notes, tt.want) || out != "" {
				t.Errorf("status %d, want %d with %q:\n%s%s", status, cli.ExitMisuse, tt.want, out, notes)
			}
		})
	}
}

// TestDemoModelStops: cancelling ends the model's request and the demo.
func TestDemoModelStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := runtime.ModelFunc(func(ctx context.Context, _ *runtime.Request) iter.Seq2[runtime.Chunk, error] {
		return func(yield func(runtime.Chunk, error) bool) {
			cancel()
			<-ctx.Done()
			yield(runtime.Chunk{}, ctx.Err())
		}
	})
	err := Demo(ctx, cli.DemoOptions{Page: cli.NewPage(io.Discard, false), Notes: io.Discard, Model: "slow", OpenModel: func(context.Context) (runtime.Model, error) { return m, nil }})
	if err == nil || ctx.Err() == nil {
		t.Errorf("Demo = %v, want the cancellation", err)
	}
}
