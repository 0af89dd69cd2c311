package venue_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
	"usher/runtime/offline"
	"usher/tools/spend"
	"usher/venue"
	"usher/venue/config"
)

// completions is a server that speaks the Chat Completions format: it asks for
// the tool once, and answers with what came of it.
func completions(t *testing.T, status int) (url string, bodies *[]string) {
	t.Helper()
	bodies = new([]string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		*bodies = append(*bodies, string(raw))
		if status != http.StatusOK {
			http.Error(w, `{"error":{"message":"no"}}`, status)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		delta := `{"content":"done"}`
		if !strings.Contains(string(raw), `"role":"tool"`) {
			delta = `{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"covia_read","arguments":"{\"path\":\"w/secret\"}"}}]}`
		}
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", delta)
	}))
	t.Cleanup(server.Close)
	return server.URL, bodies
}

func TestAConfiguredModelWorksBehindTheGate(t *testing.T) {
	good, bodies := completions(t, http.StatusOK)
	bad, _ := completions(t, http.StatusBadRequest)
	c, err := config.Parse("usher.yaml", []byte(`
models:
  default: {provider: openai, model: m, base_url: "`+bad+`", fallback: second}
  second: {provider: openai, model: m, base_url: "`+good+`"}
agents:
  - {id: carol, prompt: You are Carol., tools: [covia:read], caps: [{with: w/notes/, can: crud/read}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	v := open(t, &venue.Options{Config: c})
	carol, err := user(t, v, c.User).Agent(t.Context(), "carol")
	if err != nil {
		t.Fatal(err)
	}
	var outcome string
	for _, ev := range chat(t, carol, "read it") {
		if done, ok := ev.(runtime.ToolEnd); ok {
			outcome = done.Outcome
		}
	}
	if outcome != runtime.ToolDenied || len(*bodies) != 2 {
		t.Fatalf("the call was %q after %d requests, want it denied after 2", outcome, len(*bodies))
	}
	if told := (*bodies)[1]; !strings.Contains(told, "capability_denied") || !strings.Contains(told, "crud/read on w/notes/") {
		t.Errorf("the model was told %s", told)
	}
}

func TestModelsThatCannotBe(t *testing.T) {
	for name, tc := range map[string]struct{ model, want string }{
		"unknown provider": {`{provider: opnai}`, "opnai"},
		"a literal key":    {`{provider: openai, model: m, key: sk-123}`, "env:"},
		"a circle":         {`{provider: offline, fallback: default}`, "default"},
		"unknown setting":  {`{provider: offline, temprature: 1}`, "temprature"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := config.Parse("usher.yaml", []byte("models: {default: "+tc.model+"}\n"))
			if err != nil {
				t.Fatal(err)
			}
			v, err := venue.Open(t.Context(), &venue.Options{Config: c})
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "sk-123") {
				t.Errorf("Open: %v, want an error with %q", err, tc.want)
			}
			if err == nil {
				_ = v.Close()
			}
		})
	}
}

// The budgets of a context hold for a model that the program brings.
func TestAProgramsModelIsMetered(t *testing.T) {
	run := spend.NewBudget("run", spend.Limits{Calls: 1})
	v := open(t, with(offline.Model{}))
	bob, err := user(t, v, "alice").CreateAgent(t.Context(), spec("bob", "", "[]"))
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	for range 2 {
		for _, err := range bob.Chat(runtime.WithBudgets(t.Context(), run), "hello") {
			failed = err
		}
	}
	if spent, ok := errors.AsType[*spend.BudgetError](failed); !ok || spent.Budget != "run" || run.Amount().Calls != 1 {
		t.Errorf("got %v; spent %+v", failed, run.Amount())
	}
}

// What a configuration records replays on another day, in another place and as
// another model.
var ulid = regexp.MustCompile(`01[0-9A-Z]{24}`)

func TestACassetteIsOfNoDayAndPlace(t *testing.T) {
	cassette := filepath.Join(t.TempDir(), "run.cassette")
	clock := newHands(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	talk := func(setting string) []string {
		dir := filepath.Join(t.TempDir(), "in-"+setting) // the venue has its name
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		from, err := filepath.Rel(dir, cassette)
		if err != nil {
			t.Fatal(err)
		}
		text := "store: memory\nmodels: {" + setting + ": {provider: offline, " + setting + ": " + from + "}, default: {provider: offline}}\nagents:\n" +
			"- {id: bob, model: " + setting + ", prompt: You are Bob., tools: [agent:request], caps: [{with: g/carol, can: agent/request}]}\n" +
			"- {id: carol, model: " + setting + ", prompt: You are Carol., caps: []}\n"
		if err := os.WriteFile(filepath.Join(dir, "usher.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		v := open(t, &venue.Options{Config: c, Now: clock.Now})
		bob, err := user(t, v, c.User).Agent(t.Context(), "bob")
		if err != nil {
			t.Fatal(err)
		}
		// What Bob is told of the job has ids that each run gives out anew.
		var events []string
		for _, ev := range chat(t, bob, "ask carol What is new?\nask carol And else?") {
			raw, err := runtime.EventJSON(ev)
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, ulid.ReplaceAllString(string(raw), "ID"))
		}
		return events[1:] // the first has the user's DID
	}
	recorded := talk("record")
	if all := strings.Join(recorded, "\n"); !strings.Contains(all, "bob~ID") {
		t.Errorf("no result has an id:\n%s", all)
	}
	clock.Add(24 * time.Hour)
	if diff := cmp.Diff(recorded, talk("replay")); diff != "" {
		t.Errorf("events (-recorded +replayed):\n%s", diff)
	}
}
