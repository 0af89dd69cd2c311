package ap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
	"usher/runtime/endpoint"
	"usher/runtime/wrap"
	"usher/tools/spend"
	"usher/venue/cli"
)

// stops is what a run shows that the model's failure ended.
type stops struct {
	At, Agent string
	Decided   int
	Attempts  int
	Requests  int // that reached the server; 0 where the case has none
}

// TestDemoStopsWhereTheModelFails: nothing is asked of a model that cannot be
// had, what was done until then is shown, and the failure is no answer.
func TestDemoStopsWhereTheModelFails(t *testing.T) {
	without := func(id string) func(*asked) bool { return func(a *asked) bool { return a.Agent == id } }
	const refused = "the model's server answers 401 Unauthorized (invalid_api_key): no such key; check key"
	for _, tt := range []struct {
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
			want: stops{At: "invoice 1-kestrel", Agent: "Alice", Requests: 1}, words: refused,
		},
		{
			name: "for an invoice of one's own", refuse: func(*asked) bool { return true }, invoice: true,
			want: stops{At: "invoice.txt", Agent: "Alice", Requests: 1}, words: refused,
		},
		{
			name: "in the middle of an invoice", refuse: without("Carol"),
			want: stops{At: "invoice 1-kestrel", Agent: "Carol", Requests: 6}, words: refused,
		},
		{
			name: "at the report", refuse: without("Dave"),
			want: stops{At: "the report of the day", Agent: "Dave", Decided: 6, Requests: 49}, words: refused,
		},
		{
			name: "at the last attempt", refuse: func(a *asked) bool { return a.Agent == "Carol" && a.ByAgent && strings.Contains(a.Task, "F-1") },
			want: stops{At: "the attempts", Agent: "Carol", Decided: 6, Attempts: 30, Requests: 52}, words: refused,
		},
		{
			name: "its budget is spent", more: ", budget: {calls: 20}",
			want: stops{At: "invoice 3-brightwater-hosting", Agent: "Bob", Decided: 2, Requests: 20}, words: `budget "model local" is spent: 20 of 20 calls`,
		},
		{
			name: "nobody is there, after the tries of its settings", url: "http://127.0.0.1:1/v1", more: ", retry: {tries: 2, first: 1ms}",
			want: stops{At: "invoice 1-kestrel", Agent: "Alice"}, words: "after 2 tries: reach the model's server: ",
		},
		{
			name: "the recording knows nothing", more: ", replay: other.yaml",
			want: stops{At: "invoice 1-kestrel", Agent: "Alice"}, words: "replay: the cassette ",
		},
	} {
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
			got := stops{At: s.Failure.At, Agent: s.Failure.Agent, Decided: len(s.Judgement.Invoices), Attempts: len(s.Attempts), Requests: e.requests}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if status != cli.ExitFailed || !strings.HasPrefix(s.Failure.Words, tt.words) || strings.Count(notes, s.Failure.Words) != 1 {
				t.Errorf("status %d, failure %q, want %d with %q, told once:\n%s", status, s.Failure.Words, cli.ExitFailed, tt.words, notes)
			}
			if s.Judgement.AsPolicy != tt.want.Decided || !s.Audit.Verified || len(s.Unexpected) > 0 {
				t.Errorf("%d of %d as the policy, verified %v, unexpected %q", s.Judgement.AsPolicy, tt.want.Decided, s.Audit.Verified, s.Unexpected)
			}
			for _, a := range s.Attempts {
				if a.Outcome == byModel || a.Outcome == failed {
					t.Errorf("%s: %s, want no such outcome", a.What, a.Outcome)
				}
			}
			calls := 0
			for _, u := range s.Judgement.Usage {
				calls += u.Calls
			}
			if tt.want.Requests > 0 && calls != tt.want.Requests {
				t.Errorf("%d calls are reported, %d reached the server", calls, tt.want.Requests)
			}
		})
	}
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
	want := "usher: the demo stopped, as its model failed: model local, behind Carol at invoice 2-corvane: the model's server answers 401"
	if status != cli.ExitFailed || strings.Count(out+notes, "no such key") != 1 || !strings.Contains(notes, want) {
		t.Errorf("status %d, want %d with %q once:\n%s%s", status, cli.ExitFailed, want, out, notes)
	}
	for _, want := range []string{
		"ESCALATED to Marisol Ortega", "3. What the audit ledger says", "as the policy  1-kestrel",
		"stopped        at invoice 2-corvane, where the model failed", "1 of 1 as the policy demands",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the demo does not print %q:\n%s", want, out)
		}
	}
	for _, not := range []string{"NO DECISION", "Dave reports", "attempts:", "answered", "Every call shows its ticket"} {
		if strings.Contains(out, not) {
			t.Errorf("the demo prints %q:\n%s", not, out)
		}
	}
}

// TestDemoTellsAFailureOnce: a turn that came to nothing is told with its
// reason, and once.
func TestDemoTellsAFailureOnce(t *testing.T) {
	brains := theirs(t, mustConfig(t))
	brains["Carol"] = says("Certainly!")
	status, out, notes := command(t, "--model", "local", "-c", serve(t, brains).configuration(""))
	if status != cli.ExitFailed || !strings.Contains(notes, "6 of 6 invoices came out otherwise") {
		t.Errorf("status %d:\n%s", status, notes)
	}
	const reason = "it is not one JSON value"
	if n := strings.Count(out, reason); n != 7 { // six invoices and the last attempt
		t.Errorf("the demo prints %q %d times, want 7:\n%s", reason, n, out)
	}
	for _, want := range []string{"otherwise      1-kestrel came to no decision\n", "failed   ask Carol to approve a forged invoice", ", 1 to which the model came to no answer. Data"} {
		if !strings.Contains(out, want) {
			t.Errorf("the demo does not print %q:\n%s", want, out)
		}
	}
	for _, not := range []string{`{"error"`, "answered", "ended FAILED"} {
		if strings.Contains(out, not) {
			t.Errorf("the demo prints %q:\n%s", not, out)
		}
	}
}

// TestDemoTellsOfDelays: while a model is asked again, the notes say why.
func TestDemoTellsOfDelays(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":{"message":"too many\u001b[2J"}}`, http.StatusTooManyRequests)
	}))
	defer server.Close()
	e := &loopback{t: t, url: server.URL + "/v1"}
	status, _, notes := command(t, "--model", "local", "-c", e.configuration(", retry: {tries: 2, first: 1ms}"))
	if want := "model of Alice: "; status != cli.ExitFailed || strings.Count(notes, want) != 1 || !strings.Contains(notes, "waiting 100ms (try 2 of 2)\n") {
		t.Errorf("status %d, want a line %q:\n%s", status, want, notes)
	}
	if line, _, _ := strings.Cut(notes, "usher: "); strings.ContainsRune(line, '\x1b') {
		t.Error("what a server says reaches the terminal with its escapes")
	}
}

func TestOfOneAnswer(t *testing.T) {
	cassette := func(words string) error {
		text := fmt.Sprintf(`{"request":{},"error":{"message":%q}}`, words)
		player, err := wrap.Replay(strings.NewReader(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, err = range player.Generate(t.Context(), &runtime.Request{}) {
			continue
		}
		return err
	}
	for _, tt := range []struct {
		name string
		err  error
		want bool
	}{
		{"authentication", &endpoint.Error{Status: 401}, false},
		{"overloaded", &endpoint.Error{Status: 503}, false},
		{"unknown setting", &endpoint.Error{Status: 400}, false},
		{"not the format", endpoint.ErrFormat, false},
		{"unreachable", endpoint.Passing("reach the model's server: EOF", nil), false},
		{"too slow", endpoint.ErrTimeout, false},
		{"connection broke", endpoint.Cut(io.ErrUnexpectedEOF), false},
		{"spent budget", &spend.BudgetError{}, false},
		{"no price", &spend.PriceError{}, false},
		{"unknown to the replay", &wrap.UnknownRequestError{}, false},
		{"recorded failure", cassette("the server answers 401"), false},
		{"another error", errors.New("out of order"), false},
		{"too long a conversation", fmt.Errorf("x: %w", runtime.ErrWindow), true},
		{"answer too long", fmt.Errorf("%w: max_tokens is used up", endpoint.ErrCut), true},
		{"declined", fmt.Errorf("%w: no", endpoint.ErrRefused), true},
		{"filtered", fmt.Errorf("%w: for hate", endpoint.ErrFiltered), true},
		{"tool call that the server cannot read", &endpoint.Error{Status: 400, Reason: "tool_use_failed"}, true},
		{"declined in the recording", cassette(endpoint.ErrRefused.Error() + ": no"), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := ofOneAnswer(tt.err); got != tt.want {
				t.Errorf("ofOneAnswer(%v) = %v, want %v", tt.err, got, tt.want)
			}
		})
	}
}

// TestNothingIsAskedAfterAFailure: also for another agent that is at work.
func TestNothingIsAskedAfterAFailure(t *testing.T) {
	asked := 0
	m := runtime.ModelFunc(func(context.Context, *runtime.Request) iter.Seq2[runtime.Chunk, error] {
		asked++
		return func(yield func(runtime.Chunk, error) bool) { yield(runtime.Chunk{}, &endpoint.Error{Status: 401}) }
	})
	p, models := plug(mustConfig(t), "local", cli.DemoModel{Model: m}, io.Discard)
	for _, name := range []string{"scanner", "approver", "scanner"} {
		for _, err := range models[name].Generate(t.Context(), &runtime.Request{}) {
			if _, ok := errors.AsType[*endpoint.Error](err); !ok {
				t.Errorf("model %s: %v, want the server's error", name, err)
			}
		}
	}
	if f := p.failed(); asked != 1 || f == nil || f.Agent != "Alice" {
		t.Errorf("asked %d times, failure %+v, want one of Alice's", asked, f)
	}
}
