package venue_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/fault"
	"usher/venue"
)

// What is too large for the log is refused before anything of it begins.
func TestAMessageThatIsTooLarge(t *testing.T) {
	p := new(puppet)
	v := open(t, &venue.Options{Dir: t.TempDir(), Models: map[string]runtime.Model{"default": p}})
	alice := user(t, v, "alice")
	bob := create(t, alice, spec("bob", "", ""))
	long := strings.Repeat("x", 12<<20)
	refused := func(what string, err error) {
		t.Helper()
		if fault.Of(err) != fault.TooLarge || !strings.Contains(err.Error(), "at most 491520") {
			t.Errorf("%s: %.200v, want that it is too large", what, err)
		}
	}
	for ev, err := range bob.ChatIn(t.Context(), "s", long) {
		if ev != nil {
			t.Errorf("the turn begins: %T", ev)
		}
		refused("a message", err)
	}
	_, err := alice.Invoke(t.Context(), "agent:request", map[string]string{"agentId": "bob", "input": long[:1<<20]})
	refused("a task", err)
	if list, err := bob.Sessions(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("there are the sessions %+v, %v, want none", list, err)
	}
	if list, _, err := alice.Runs(t.Context(), "", 10); err != nil || len(list) > 0 {
		t.Errorf("there are the runs %+v, %v, want none", list, err)
	}
	_, err = alice.CreateAgent(t.Context(), agents.Spec{ID: "carol", Prompt: long[:600<<10]})
	if fault.Of(err) != fault.TooLarge || !strings.Contains(err.Error(), "the configuration of agent carol takes") {
		t.Errorf("an agent with a long prompt: %.200v", err)
	}
}

type echoed struct {
	Text string `json:"text"`
}

// The largest message, calls, results and answer that may be go through one turn:
// the log takes them in parts.
func TestTheLargestTurn(t *testing.T) {
	const large = runtime.MaxSaid - 1000
	say := strings.Repeat("x", large)
	asked := 0
	m := runtime.ModelFunc(func(context.Context, *runtime.Request) iter.Seq2[runtime.Chunk, error] {
		return func(yield func(runtime.Chunk, error) bool) {
			asked++
			switch asked {
			case 1:
				yield(runtime.Chunk{Call: &runtime.CallDelta{Name: "test_echo", Arguments: `{"text":"` + say[:large-20] + `"}`}}, nil)
			case 2:
				for i := range 8 {
					call := runtime.CallDelta{Index: i, ID: fmt.Sprint(i), Name: "test_echo", Arguments: `{"text":"` + say[:large/8-100] + `"}`}
					if !yield(runtime.Chunk{Call: &call}, nil) {
						return
					}
				}
			default:
				yield(runtime.Chunk{Text: `"` + say[:large-20] + `"`}, nil)
			}
		}
	})
	echo := tools.New("test:echo", "Say it again, and longer.", func(echoed) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} },
		func(_ context.Context, _ tools.Call, in echoed) (string, error) {
			return strings.Repeat(`"`, 4*len(in.Text)), nil
		}, tools.ReadOnly(), tools.Within(caps.ScopeAbility("invoke")))
	dir := t.TempDir()
	v := open(t, &venue.Options{Dir: dir, Models: map[string]runtime.Model{"default": m}, Tools: []*tools.Operation{echo}})
	s := spec("bob", "", "")
	s.Tools = []string{"test:echo"}
	s.Output = []byte(`{"type":"string"}`)
	bob := create(t, user(t, v, "alice"), s)
	var end runtime.TurnEnd
	results := 0
	for _, ev := range chat(t, bob, say) {
		switch ev := ev.(type) {
		case runtime.ToolEnd:
			if results++; ev.Outcome != runtime.ToolOK {
				t.Errorf("a call ended as %s: %.200s", ev.Outcome, ev.Result)
			}
		case runtime.TurnEnd:
			end = ev
		}
	}
	if len(end.Output) != large-18 || results != 9 {
		t.Errorf("the turn has %d results and ends with %d bytes, %s, want 9 and %d", results, len(end.Output), end.Error, large-18)
	}
	kept := 0
	for e, err := range bob.History(t.Context(), "main") {
		if err != nil {
			t.Fatal(err)
		}
		if kept++; e.Seq != uint64(kept) {
			t.Errorf("entry %d has the number %d", kept, e.Seq)
		}
	}
	if kept != 23 {
		t.Errorf("the log has %d events, want 23", kept)
	}
	if missing, _ := unsettled(t, v); len(missing) > 0 {
		t.Errorf("decisions %v have no outcome", missing)
	}
}
