package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
	"usher/tools/fault"
	"usher/tools/schema"
	"usher/tools/toolstest"
	"usher/ucan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a model that answers its requests one after the other.
type script struct {
	mu       sync.Mutex
	answers  [][]runtime.Chunk
	failure  error // after the last answer
	requests []runtime.Request
}

func (s *script) Generate(_ context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, *req)
	if len(s.answers) == 0 {
		return func(yield func(runtime.Chunk, error) bool) { yield(runtime.Chunk{}, s.failure) }
	}
	answer := s.answers[0]
	s.answers = s.answers[1:]
	return func(yield func(runtime.Chunk, error) bool) {
		for _, chunk := range answer {
			if !yield(chunk, nil) {
				return
			}
		}
	}
}

func text(s string) []runtime.Chunk { return []runtime.Chunk{{Text: s}} }

func calls(pairs ...string) []runtime.Chunk {
	var out []runtime.Chunk
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, runtime.Chunk{Call: &runtime.CallDelta{Index: i / 2, ID: fmt.Sprint("c", i/2), Name: pairs[i], Arguments: pairs[i+1]}})
	}
	return out
}

type keyInput struct {
	Key string `json:"key"`
}

// fixture is an agent with a map for a workspace.
type fixture struct {
	gate   *tools.Gate
	ops    *tools.Registry
	agent  *runtime.Agent
	model  *script
	mu     sync.Mutex
	held   caps.Set
	reads  []string
	onRead func(ctx context.Context, key string) (string, error)
}

func newFixture(t testing.TB, held caps.Set, answers ...[]runtime.Chunk) *fixture {
	t.Helper()
	f := &fixture{held: held, model: &script{answers: answers, failure: errors.New("no more answers")}}
	f.onRead = func(_ context.Context, key string) (string, error) { return "value of " + key, nil }
	read := tools.New("map:read", "Read a key.",
		func(in keyInput) []caps.Request { return []caps.Request{caps.Need("crud/read", in.Key)} },
		func(ctx context.Context, _ tools.Call, in keyInput) (string, error) {
			f.mu.Lock()
			f.reads = append(f.reads, in.Key)
			f.mu.Unlock()
			return f.onRead(ctx, in.Key)
		}, tools.ReadOnly(), tools.Within(caps.ScopeUnder("crud/read", "", 0, 0)))
	write := tools.New("map:write", "Write a key.",
		func(in keyInput) []caps.Request { return []caps.Request{caps.Need("crud/write", in.Key)} },
		func(context.Context, tools.Call, keyInput) (bool, error) { return true, nil },
		tools.Within(caps.ScopeUnder("crud/write", "w", 1, 0)))
	registry := new(tools.Registry)
	if err := registry.Register(read, write); err != nil {
		t.Fatal(err)
	}
	gate, mint := toolstest.NewGate(registry, nil)
	key, err := ucan.KeyFromSeed([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	f.gate, f.ops = gate, registry
	f.agent = &runtime.Agent{
		ID: "bob", Model: f.model, Prompt: "You are Bob.", Tools: []*tools.Operation{read, write},
		Authority: mint.Agent(key.DID(), "bob", f.caps),
	}
	return f
}

func (f *fixture) caps() caps.Set {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.held
}

func (f *fixture) narrow(set caps.Set) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = set
}

func clock() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

func (f *fixture) runner(opts runtime.Options) *runtime.Runner {
	opts.Now = clock
	return runtime.New(f.gate, &opts)
}

// turn runs a turn to its end.
func turn(t testing.TB, r *runtime.Runner, a *runtime.Agent, s *runtime.Session, say string) ([]runtime.Event, error) {
	t.Helper()
	var events []runtime.Event
	for ev, err := range r.Turn(t.Context(), a, s, runtime.Say{From: "did:key:zAlice", Text: say}) {
		if err != nil {
			return events, err
		}
		events = append(events, ev)
	}
	return events, nil
}

func reader() caps.Set { return caps.Of(caps.MustCapability("w/", "crud/read")) }

func TestTurn(t *testing.T) {
	f := newFixture(t, reader(), calls("map_read", `{"key":"w/a"}`), []runtime.Chunk{
		{Reasoning: "hm"}, {Text: "It is "}, {Text: "a."}, {Usage: &runtime.Usage{Input: 3, Output: 2}, Finish: "stop"},
	})
	s := runtime.NewSession("s1", nil)
	events, err := turn(t, f.runner(runtime.Options{}), f.agent, s, "What is a?")
	if err != nil {
		t.Fatal(err)
	}
	call := runtime.ToolCall{ID: "c0", Name: "map_read", Arguments: `{"key":"w/a"}`}
	want := []runtime.Event{
		runtime.TurnStart{Agent: "bob", Session: "s1", From: "did:key:zAlice", Text: "What is a?"},
		runtime.ToolCallDelta{ID: "c0", Name: "map_read", Arguments: `{"key":"w/a"}`},
		runtime.ModelAnswer{Calls: []runtime.ToolCall{call}},
		runtime.ToolStart{Call: call, Idempotent: true},
		runtime.ToolEnd{CallID: "c0", Name: "map_read", Operation: "v/ops/map/read", Outcome: runtime.ToolOK, Result: `"value of w/a"`},
		runtime.ReasoningDelta{Text: "hm"},
		runtime.TextDelta{Text: "It is "},
		runtime.TextDelta{Text: "a."},
		runtime.UsageDelta{Usage: runtime.Usage{Input: 3, Output: 2}},
		runtime.ModelAnswer{Text: "It is a.", Usage: runtime.Usage{Input: 3, Output: 2}, Finish: "stop"},
		runtime.TurnEnd{Text: "It is a.", Calls: 2, Usage: runtime.Usage{Input: 3, Output: 2}},
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	messages := []runtime.Message{
		{Role: runtime.RoleUser, Text: "What is a?"},
		{Role: runtime.RoleAssistant, Calls: []runtime.ToolCall{call}},
		{Role: runtime.RoleTool, CallID: "c0", Name: "map_read", Text: `"value of w/a"`},
		{Role: runtime.RoleAssistant, Text: "It is a."},
	}
	if diff := cmp.Diff(messages, s.Messages()); diff != "" {
		t.Errorf("conversation (-want +got):\n%s", diff)
	}
}

// What the agent works without is told and kept.
func TestMissingContextIsTold(t *testing.T) {
	f := newFixture(t, reader(), text("Hi."))
	f.onRead = func(context.Context, string) (string, error) { return "", errors.New("the disk is full") }
	f.agent.Context = []runtime.ContextEntry{
		{Label: "Note", Text: "Be brief."},
		{Operation: "map:read", Input: json.RawMessage(`{"key":"w/a"}`)},
		{Label: "Secret", Operation: "map:read", Input: json.RawMessage(`{"key":"s/a"}`)},
	}
	log := new(keeper)
	events, err := turn(t, f.runner(runtime.Options{}), f.agent, runtime.NewSession("s", log), "Hello")
	if err != nil {
		t.Fatal(err)
	}
	var told, kept []runtime.ContextGap
	for _, ev := range events {
		if ev, ok := ev.(runtime.ContextGap); ok {
			told = append(told, ev)
		}
	}
	for _, e := range log.entries {
		raw, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var back runtime.Entry
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Fatal(err)
		}
		if ev, ok := back.Event.(runtime.ContextGap); ok {
			kept = append(kept, ev)
		}
	}
	if len(told) != 2 || told[0] != (runtime.ContextGap{Label: "map:read", Source: "map:read", Reason: "the disk is full"}) ||
		told[1].Label != "Secret" || !strings.HasPrefix(told[1].Reason, "Capability denied: v/ops/map/read requires crud/read on s/a.") {
		t.Errorf("told %+v", told)
	}
	if diff := cmp.Diff(told, kept); diff != "" {
		t.Errorf("kept (-told +kept):\n%s", diff)
	}
}

// A wait is told while it lasts. It is no part of the answer, nor of the log.
func TestAWaitIsToldAndNotKept(t *testing.T) {
	f := newFixture(t, reader(), []runtime.Chunk{
		{Delay: &runtime.Delay{Reason: "busy", Wait: 1500 * time.Millisecond, Try: 2, Tries: 4}},
		{Delay: &runtime.Delay{Reason: "still busy", Next: "claude"}},
		{Text: "Hi.", Finish: "stop"},
	})
	opts, kept := traced(t)
	s := runtime.NewSession("s", nil)
	events, err := turn(t, runtime.New(f.gate, &opts), f.agent, s, "Hello")
	if err != nil {
		t.Fatal(err)
	}
	want := []runtime.Event{
		runtime.TurnStart{Agent: "bob", Session: "s", From: "did:key:zAlice", Text: "Hello"},
		runtime.ModelDelay{Reason: "busy", Wait: 1500, Try: 2, Tries: 4},
		runtime.ModelDelay{Reason: "still busy", Model: "claude"},
		runtime.TextDelta{Text: "Hi."},
		runtime.ModelAnswer{Text: "Hi.", Finish: "stop"},
		runtime.TurnEnd{Text: "Hi.", Calls: 1},
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	for _, span := range kept.GetSpans() {
		if span.Name == "chat" && len(span.Events) != 2 {
			t.Errorf("the span of the call has %d events, want both waits", len(span.Events))
		}
	}
	raw, err := runtime.EventJSON(want[1])
	if err != nil || string(raw) != `{"type":"model_delayed","reason":"busy","waitMs":1500,"try":2,"tries":4}` {
		t.Errorf("as JSON: %s, %v", raw, err)
	}
}

func TestDenialReachesTheModel(t *testing.T) {
	f := newFixture(t, reader(), calls("map_write", `{"key":"w/a"}`), text("I may not."))
	events, err := turn(t, f.runner(runtime.Options{}), f.agent, runtime.NewSession("s", nil), "Write a.")
	if err != nil {
		t.Fatal(err)
	}
	var done runtime.ToolEnd
	for _, ev := range events {
		if ev, ok := ev.(runtime.ToolEnd); ok {
			done = ev
		}
	}
	var got struct {
		Error        string
		Operation    string
		Ability      string
		Resource     string
		Retryable    *bool
		Message      string
		Capabilities []map[string]string
	}
	if err := json.Unmarshal([]byte(done.Result), &got); err != nil {
		t.Fatalf("result %q: %v", done.Result, err)
	}
	if done.Outcome != runtime.ToolDenied || got.Error != "capability_denied" || got.Operation != "v/ops/map/write" ||
		got.Ability != "crud/write" || got.Resource != "w/a" || got.Retryable == nil || *got.Retryable ||
		!strings.HasPrefix(got.Message, "Capability denied: v/ops/map/write requires crud/write on w/a. Your capabilities are: crud/read on w/.") {
		t.Errorf("denial = %s %s", done.Outcome, done.Result)
	}
	last := f.model.requests[1].Messages
	if told := last[len(last)-1]; told.Role != runtime.RoleTool || told.Text != done.Result {
		t.Errorf("the model was told %+v, want the denial", told)
	}
}

func TestToolsOnOfferFollowTheCapabilities(t *testing.T) {
	for _, tc := range []struct {
		name string
		held caps.Set
		want []string
	}{
		{"reader", reader(), []string{"map_read"}},
		{"writer", caps.Of(caps.MustCapability("w/out", "crud/write")), []string{"map_write"}},
		{"writer elsewhere", caps.Of(caps.MustCapability("g/", "crud/write")), nil},
		{"nothing", caps.Set{}, nil},
		{"unrestricted", caps.Unrestricted(), []string{"map_read", "map_write"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFixture(t, tc.held, text("ok"))
			if _, err := turn(t, f.runner(runtime.Options{}), f.agent, runtime.NewSession("s", nil), "hi"); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, tool := range f.model.requests[0].Tools {
				got = append(got, tool.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("tools (-want +got):\n%s", diff)
			}
			disclosed := strings.Contains(f.model.requests[0].System, "## Your capabilities (caps)")
			if disclosed == tc.held.IsUnrestricted() {
				t.Errorf("disclosed: %v for %v", disclosed, tc.held)
			}
		})
	}
}

func TestCapsChangedDuringATurnHoldAtItsNextCall(t *testing.T) {
	f := newFixture(t, caps.Of(caps.MustCapability("w/", "crud")),
		calls("map_read", `{"key":"w/a"}`), calls("map_read", `{"key":"w/b"}`), calls("map_read", `{"key":"w/c"}`), text("done"))
	f.onRead = func(_ context.Context, key string) (string, error) {
		f.narrow(caps.Of(caps.MustCapability("w/c", "crud/read"))) // while the first call runs
		return key, nil
	}
	if _, err := turn(t, f.runner(runtime.Options{}), f.agent, runtime.NewSession("s", nil), "Read."); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"w/a", "w/c"}, f.reads); diff != "" {
		t.Errorf("reads that ran (-want +got):\n%s", diff)
	}
	if sys := f.model.requests[1].System; !strings.Contains(sys, "- crud/read on w/c\n") || strings.Contains(sys, "crud on w/") {
		t.Errorf("the next model call is told:\n%s", sys)
	}
}

func TestH21WhatTheModelGetsWrong(t *testing.T) {
	for _, tc := range []struct {
		name, tool, arguments, want string
	}{
		{"no such tool", "map_erase", `{}`, "there is no tool"},
		{"arguments that are no JSON", "map_read", `{"key":`, "not a JSON object"},
		{"arguments that are no object", "map_read", `["w/a"]`, "not a JSON object"},
		{"a field missing", "map_read", `{}`, "key"},
		{"a bad path", "map_read", `{"key":"w/../s"}`, "invalid_input"},
		{"a field that is not there", "map_read", `{"key":"w/a","x":1}`, "invalid_input"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFixture(t, caps.Unrestricted(), calls(tc.tool, tc.arguments), text("sorry"))
			if _, err := turn(t, f.runner(runtime.Options{}), f.agent, runtime.NewSession("s", nil), "go"); err != nil {
				t.Fatal(err)
			}
			messages := f.model.requests[1].Messages
			if told := messages[len(messages)-1].Text; !strings.Contains(told, tc.want) || !strings.Contains(told, `"error"`) {
				t.Errorf("the model was told %s, want an error with %q", told, tc.want)
			}
			if len(f.reads) > 0 {
				t.Errorf("it ran: %v", f.reads)
			}
		})
	}
}

func TestCallsAreAssembledFromPieces(t *testing.T) {
	piece := func(index int, id, name, arguments string) runtime.Chunk {
		return runtime.Chunk{Call: &runtime.CallDelta{Index: index, ID: id, Name: name, Arguments: arguments}}
	}
	f := newFixture(t, reader(), []runtime.Chunk{
		piece(0, "x", "map_read", ""), piece(1, "x", "map_read", `{"ke`), piece(0, "", "", `{"key":`), piece(1, "", "", `y":"w/b"}`), piece(0, "", "", `"w/a"}`),
	}, text("done"))
	s := runtime.NewSession("s", nil)
	if _, err := turn(t, f.runner(runtime.Options{}), f.agent, s, "go"); err != nil {
		t.Fatal(err)
	}
	slices.Sort(f.reads) // they run side by side
	if diff := cmp.Diff([]string{"w/a", "w/b"}, f.reads); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	made := s.Messages()[1].Calls
	if made[0].ID == made[1].ID {
		t.Errorf("two calls share the id %q", made[0].ID)
	}
}

func TestLimits(t *testing.T) {
	t.Run("model calls", func(t *testing.T) {
		var answers [][]runtime.Chunk
		for range 5 {
			answers = append(answers, calls("map_read", `{"key":"w/a"}`))
		}
		f := newFixture(t, reader(), answers...)
		_, err := turn(t, f.runner(runtime.Options{MaxModelCalls: 3}), f.agent, runtime.NewSession("s", nil), "go")
		if fault.Of(err) != fault.ModelCalls || len(f.model.requests) != 3 {
			t.Errorf("turn = %v after %d calls, want %v after 3", err, len(f.model.requests), fault.ModelCalls)
		}
	})
	t.Run("tool result", func(t *testing.T) {
		f := newFixture(t, reader(), calls("map_read", `{"key":"w/a"}`), text("done"))
		f.onRead = func(context.Context, string) (string, error) { return strings.Repeat("é", 1000), nil }
		s := runtime.NewSession("s", nil)
		if _, err := turn(t, f.runner(runtime.Options{MaxToolResult: 100}), f.agent, s, "go"); err != nil {
			t.Fatal(err)
		}
		got := s.Messages()[2].Text
		if !strings.Contains(got, "[cut: this is the first 99 of 2002 bytes") {
			t.Errorf("result = %q, want it cut at a character and saying so", got)
		}
	})
	t.Run("tool time", func(t *testing.T) {
		f := newFixture(t, reader(), calls("map_read", `{"key":"w/a"}`), text("done"))
		f.onRead = func(ctx context.Context, _ string) (string, error) { <-ctx.Done(); return "", ctx.Err() }
		s := runtime.NewSession("s", nil)
		if _, err := turn(t, f.runner(runtime.Options{ToolTimeout: time.Millisecond}), f.agent, s, "go"); err != nil {
			t.Fatal(err)
		}
		if got := s.Messages()[2].Text; !strings.Contains(got, `"timeout"`) || !strings.Contains(got, "timed out after 1ms (limits.tool_timeout)") {
			t.Errorf("result = %s, want a timeout that names its limit", got)
		}
	})
}

func TestStructuredOutput(t *testing.T) {
	form, err := schema.Compile(t.Context(), json.RawMessage(`{"type":"object","properties":{"total":{"type":"number"}},"required":["total"]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("a violation goes back to the model", func(t *testing.T) {
		f := newFixture(t, reader(), text("It is twelve."), text(`{"total":"12"}`), text("```json\n{\"total\": 12}\n```"))
		f.agent.Output = form
		events, err := turn(t, f.runner(runtime.Options{}), f.agent, runtime.NewSession("s", nil), "Total?")
		if err != nil {
			t.Fatal(err)
		}
		done := events[len(events)-1].(runtime.TurnEnd)
		if string(done.Output) != `{"total": 12}` {
			t.Errorf("output = %s", done.Output)
		}
		last := f.model.requests[2].Messages
		if told := last[len(last)-1].Text; !strings.Contains(told, "total") || !strings.Contains(told, "number") {
			t.Errorf("the model was told %q, want what does not fit", told)
		}
		if string(f.model.requests[0].Output) == "" || !strings.Contains(f.model.requests[0].System, `"total"`) {
			t.Error("the model was not told the schema")
		}
	})
	t.Run("and fails the turn after the last try", func(t *testing.T) {
		f := newFixture(t, reader(), text("a"), text("b"), text("c"), text(`{"total":1}`))
		f.agent.Output = form
		_, err := turn(t, f.runner(runtime.Options{}), f.agent, runtime.NewSession("s", nil), "Total?")
		if fault.Of(err) != fault.Output || !strings.Contains(err.Error(), "limits.output_tries") || len(f.model.requests) != 3 {
			t.Errorf("turn = %v after %d tries, want %v after 3", err, len(f.model.requests), fault.Output)
		}
	})
}

// keeper is a log in memory.
type keeper struct {
	mu      sync.Mutex
	entries []runtime.Entry
}

func (k *keeper) len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.entries)
}

func (k *keeper) Append(_ context.Context, _ string, entries ...runtime.Entry) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.entries = append(k.entries, entries...)
	return nil
}

func TestSessionIsItsLog(t *testing.T) {
	f := newFixture(t, reader(), calls("map_read", `{"key":"w/a"}`), text("first"), text("second"))
	log := new(keeper)
	s := runtime.NewSession("s", log)
	r := f.runner(runtime.Options{})
	for _, say := range []string{"one", "two"} {
		if err := s.Leave(t.Context(), clock(), runtime.InboxMessage{From: "dave", Text: "before " + say}); err != nil {
			t.Fatal(err)
		}
		if _, err := turn(t, r, f.agent, s, say); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := json.Marshal(log.entries)
	if err != nil {
		t.Fatal(err)
	}
	var past []runtime.Entry
	if err := json.Unmarshal(raw, &past); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(log.entries, past); diff != "" {
		t.Errorf("log after JSON (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(s.Messages(), runtime.NewSession("s", nil, past...).Messages()); diff != "" {
		t.Errorf("conversation after reading the log (-want +got):\n%s", diff)
	}
	if heard := s.Messages()[0].Text; heard != "[Message from: dave]\n> before one" {
		t.Errorf("the first message is %q", heard)
	}
	for i, e := range log.entries {
		if e.Seq != uint64(i)+1 {
			t.Errorf("entry %d has the number %d", i, e.Seq)
		}
	}
}

func TestCallsOfALeftTurnAreAnswered(t *testing.T) {
	f := newFixture(t, reader(), calls("map_read", `{"key":"w/a"}`, "map_read", `{"key":"w/b"}`), text("fine"))
	s := runtime.NewSession("s", nil)
	r := f.runner(runtime.Options{})
	for ev, err := range r.Turn(t.Context(), f.agent, s, runtime.Say{Text: "go"}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := ev.(runtime.ToolStart); ok {
			break
		}
	}
	if _, err := turn(t, r, f.agent, s, "again"); err != nil {
		t.Fatal(err)
	}
	answered := map[string]int{}
	for _, m := range f.model.requests[1].Messages {
		if m.Role == runtime.RoleTool {
			answered[m.CallID]++
			if want := map[string]string{"c0": "unknown", "c1": "never started"}[m.CallID]; !strings.Contains(m.Text, want) {
				t.Errorf("the unfinished call %s is answered %s, want that it is %s", m.CallID, m.Text, want)
			}
		}
	}
	if diff := cmp.Diff(map[string]int{"c0": 1, "c1": 1}, answered); diff != "" {
		t.Errorf("results of the stopped calls (-want +got):\n%s", diff)
	}
}

// What led to calls goes back to the model with their results; what led to an
// answer is over.
func TestReasoningStaysWithItsCalls(t *testing.T) {
	f := newFixture(t, reader(),
		append([]runtime.Chunk{{Reasoning: "I should "}, {Reasoning: "look."}}, calls("map_read", `{"key":"w/a"}`)...),
		[]runtime.Chunk{{Reasoning: "There it is."}, {Text: "It is a."}})
	s := runtime.NewSession("s", nil)
	if _, err := turn(t, f.runner(runtime.Options{}), f.agent, s, "go"); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range s.Messages() {
		if m.Role == runtime.RoleAssistant {
			got = append(got, m.Reasoning)
		}
	}
	if diff := cmp.Diff([]string{"I should look.", ""}, got); diff != "" {
		t.Errorf("reasoning (-want +got):\n%s", diff)
	}
}

func TestACrashedTurnsCallsAreAnswered(t *testing.T) {
	f := newFixture(t, reader(), text("fine"))
	call := runtime.ToolCall{ID: "c9", Name: "map_read", Arguments: "{}"}
	s := runtime.NewSession("s", nil,
		runtime.Entry{Seq: 1, Event: runtime.TurnStart{Text: "go"}},
		runtime.Entry{Seq: 2, Event: runtime.ModelAnswer{Calls: []runtime.ToolCall{call}}},
		runtime.Entry{Seq: 3, Event: runtime.ToolStart{Call: call}},
		runtime.Entry{Seq: 4, Event: runtime.TurnStart{Text: "still there?"}},
		runtime.Entry{Seq: 5, Event: runtime.TurnEnd{Error: "stopped", Code: "stopped"}})
	if _, err := turn(t, f.runner(runtime.Options{}), f.agent, s, "again"); err != nil {
		t.Fatal(err)
	}
	if m := f.model.requests[0].Messages[2]; m.Role != runtime.RoleTool || m.CallID != "c9" || !strings.Contains(m.Text, "unknown") {
		t.Errorf("the model is told %+v, want that the effect of c9 is unknown", m)
	}
}

func TestModelFailureEndsTheTurn(t *testing.T) {
	f := newFixture(t, reader())
	s := runtime.NewSession("s", nil)
	events, err := turn(t, f.runner(runtime.Options{}), f.agent, s, "go")
	if err == nil || !strings.Contains(err.Error(), "model of agent bob: no more answers") {
		t.Errorf("turn = %v", err)
	}
	if done, ok := events[len(events)-1].(runtime.TurnEnd); !ok || done.Error == "" {
		t.Errorf("last event = %#v, want TurnEnd with the error", events[len(events)-1])
	}
}

func TestCancelledTurn(t *testing.T) {
	f := newFixture(t, reader(), calls("map_read", `{"key":"w/a"}`), text("done"))
	ctx, cancel := context.WithCancel(t.Context())
	f.onRead = func(ctx context.Context, _ string) (string, error) { cancel(); return "", ctx.Err() }
	s := runtime.NewSession("s", nil)
	var last error
	for _, err := range f.runner(runtime.Options{}).Turn(ctx, f.agent, s, runtime.Say{Text: "go"}) {
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("turn = %v, want %v", last, context.Canceled)
	}
	messages := s.Messages()
	if m := messages[len(messages)-1]; m.Role != runtime.RoleTool {
		t.Errorf("the conversation ends with %+v: the call is not answered", m)
	}
}

func TestEventJSON(t *testing.T) {
	for _, tc := range []struct {
		event runtime.Event
		want  string
	}{
		{runtime.TextDelta{Text: "a"}, `{"type":"text_delta","text":"a"}`},
		{runtime.ToolStart{Call: runtime.ToolCall{ID: "1", Name: "n", Arguments: "{}"}}, `{"type":"tool_started","call":{"id":"1","name":"n","arguments":"{}"}}`},
	} {
		got, err := runtime.EventJSON(tc.event)
		if err != nil || string(got) != tc.want {
			t.Errorf("EventJSON(%#v) = %s, %v; want %s", tc.event, got, err, tc.want)
		}
	}
}

func TestAnInboxIsBounded(t *testing.T) {
	s := runtime.NewSession("s", nil)
	for i := range 65 {
		err := s.Leave(t.Context(), clock(), runtime.InboxMessage{From: "dave", Text: "x"})
		if (err != nil) != (i == 64) || err != nil && !strings.Contains(err.Error(), "64 messages wait") {
			t.Fatalf("message %d: %v", i+1, err)
		}
	}
	f := newFixture(t, reader(), text("fine"))
	if _, err := turn(t, f.runner(runtime.Options{}), f.agent, s, "go"); err != nil {
		t.Fatal(err)
	}
	if err := s.Leave(t.Context(), clock(), runtime.InboxMessage{From: "dave", Text: "x"}); err != nil {
		t.Errorf("after a turn that heard them: %v", err)
	}
}
