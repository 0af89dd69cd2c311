package ap

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/venue/cli"
)

// stops is what a run shows that the model's failure ended.
type stops struct {
	At       string
	Decided  int
	Attempts int
	Requests int // that reached the server; 0 where the case has none
}

// TestDemoStopsWhereTheModelFails: nothing is asked of a model that cannot be
// had, what was done until then is shown, and the failure is no answer.
func TestDemoStopsWhereTheModelFails(t *testing.T) {
	without := func(id string) func(*asked) bool { return func(a *asked) bool { return a.Agent == id } }
	const refused = "the model's server answers 401 Unauthorized (invalid_api_key): no such key; check key"
	for i, tt := range []struct {
		name    string
		refuse  func(*asked) bool
		url     string // instead of the server's
		more    string // settings
		invoice bool   // one of one's own
		want    stops
		words   string
	}{
		{
			name: "the key is refused", refuse: func(*asked) bool { return true },
			want: stops{At: "invoice 1-kestrel.txt", Requests: 1}, words: refused,
		},
		{
			name: "for an invoice of one's own", refuse: func(*asked) bool { return true }, invoice: true,
			want: stops{At: "invoice.txt", Requests: 1}, words: refused,
		},
		{
			name: "in the middle of an invoice", refuse: without("Carol"),
			want: stops{At: "invoice 1-kestrel.txt", Requests: 6}, words: refused,
		},
		{
			name: "at the report", refuse: without("Dave"),
			want: stops{At: "the report of the day", Decided: 6, Requests: 49}, words: refused,
		},
		{
			name: "at the last attempt", refuse: func(a *asked) bool { return a.Agent == "Carol" && a.ByAgent && strings.Contains(a.Task, "F-1") },
			want: stops{At: "the attempts", Decided: 6, Attempts: 30, Requests: 52}, words: refused,
		},
		{
			name: "its budget is spent", more: ", budget: {calls: 20}",
			want: stops{At: "invoice 3-brightwater-hosting.txt", Decided: 2, Requests: 20}, words: `budget "model local" is spent: 20 of 20 calls`,
		},
		{
			name: "nobody is there, after the tries of its settings", url: "http://127.0.0.1:1/v1", more: ", retry: {tries: 2, first: 1ms}",
			want: stops{At: "invoice 1-kestrel.txt"}, words: "after 2 tries: reach the model's server: ",
		},
		{
			name: "the recording knows nothing", more: ", replay: other.yaml",
			want: stops{At: "invoice 1-kestrel.txt"}, words: "replay: the cassette ",
		},
	} {
		if testing.Short() && i%3 != 2 {
			continue // each is a whole demo
		}
		t.Run(tt.name, func(t *testing.T) {
			e := serve(t, theirs(t, mustConfig(t)))
			e.refuse = tt.refuse
			if tt.url != "" {
				e.url = tt.url
			}
			file := e.configuration(tt.more)
			t.Chdir(filepath.Dir(file))
			for name, text := range map[string]string{"invoice.txt": foreign, "other.yaml": `{"request":{"system":"Somebody else."}}`} {
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			args := []string{"--model", "local", "-c", file}
			if tt.invoice {
				args = append(args, "--invoice", "invoice.txt")
			}

			s, status, notes := commandJSON(t, args...)
			if s.Failure == nil {
				t.Fatalf("status %d, no failure in %+v\n%s", status, s, notes)
			}
			got := stops{At: s.Failure.At, Decided: len(s.Judgement.Invoices), Attempts: len(s.Attempts), Requests: e.requests}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if status != cli.ExitFailed || !strings.HasPrefix(s.Failure.Words, errModel.Error()+": model local: "+tt.words) || strings.Count(told(t, notes), s.Failure.Words) != 1 {
				t.Errorf("status %d, failure %q, want %d with %q, told once:\n%s", status, s.Failure.Words, cli.ExitFailed, tt.words, notes)
			}
			if len(s.Attempts) > 0 && !s.Unchanged {
				t.Error("it says that something changed, and nothing did")
			}
			if s.Judgement.wrong() > 0 || !s.Audit.Verified || len(s.Unexpected) > 0 {
				t.Errorf("judgement %+v, verified %v, unexpected %q", s.Judgement, s.Audit.Verified, s.Unexpected)
			}
		})
	}
}

// told is what the command says, with the message of its last line, which is the error as JSON.
func told(t *testing.T, notes string) string {
	t.Helper()
	notes = strings.TrimSuffix(notes, "\n")
	last := strings.LastIndex(notes, "\n") + 1
	var failure struct{ Message string }
	if err := json.Unmarshal([]byte(notes[last:]), &failure); err != nil {
		t.Fatalf("%v:\n%s", err, notes)
	}
	return notes[:last] + failure.Message
}

// TestDemoShowsWhereTheModelFailed: the text has what was done, says where it
// ended, and leaves the words to the error.
func TestDemoShowsWhereTheModelFailed(t *testing.T) {
	e := serve(t, theirs(t, mustConfig(t)))
	carols := 0
	e.refuse = func(a *asked) bool {
		if a.Agent == "Carol" {
			carols++
		}
		return carols > 3 // her first decision takes her three requests
	}
	status, out, notes := command(t, "--model", "local", "-c", e.configuration(""))
	want := "usher: invoice 2-corvane.txt: the demo stopped, as its model failed: model local: the model's server answers 401"
	if status != cli.ExitFailed || strings.Count(out+notes, "no such key") != 1 || !strings.Contains(notes, want) {
		t.Errorf("status %d, want %d with %q once:\n%s%s", status, cli.ExitFailed, want, out, notes)
	}
	for _, want := range []string{
		"ESCALATED to Marisol Ortega", "4. What the audit ledger says", "as the policy  1-kestrel.txt",
		"stopped        at invoice 2-corvane.txt", "1 of 1 as the policy demands",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the demo does not print %q:\n%s", want, out)
		}
	}
	for _, not := range []string{"NO DECISION", "Dave reports", "attempts:", "Every call shows its ticket"} {
		if strings.Contains(out, not) {
			t.Errorf("the demo prints %q:\n%s", not, out)
		}
	}
}

// TestDemoTellsAFailure: a turn that came to nothing is told with its
// reason.
func TestDemoTellsAFailure(t *testing.T) {
	brains := theirs(t, mustConfig(t))
	brains["Carol"] = says("Certainly!")
	status, out, notes := command(t, "--model", "local", "-c", serve(t, brains).configuration(""))
	if status != cli.ExitFailed || !strings.Contains(notes, "6 of 6 invoices came out otherwise") {
		t.Errorf("status %d:\n%s", status, notes)
	}
	for reason, want := range map[string]int{"it is not one JSON value": 3, "since its last 3 turns failed": 4} { // six invoices and the last attempt
		if n := strings.Count(strings.Join(strings.Fields(out), " "), reason); n != want {
			t.Errorf("the demo prints %q %d times, want %d:\n%s", reason, n, want, out)
		}
	}
	for _, want := range []string{"otherwise  1-kestrel.txt came to no decision\n", "refused  ask Carol to approve a forged invoice"} {
		if !strings.Contains(out, want) {
			t.Errorf("the demo does not print %q:\n%s", want, out)
		}
	}
}
