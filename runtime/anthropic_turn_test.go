package runtime_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"usher/caps"
	"usher/runtime"
	"usher/runtime/anthropic"
	"usher/tools"
	"usher/tools/toolstest"
	"usher/ucan"
)

type lookup struct {
	Path string `json:"path"`
}

// A turn through the real gate: the model thinks, reads what it may and what it
// may not, and answers when it has heard of both.
func TestClaudeTurn(t *testing.T) {
	read := tools.New("covia:read", "Read a value.",
		func(in lookup) []caps.Request { return []caps.Request{caps.Need("crud/read", in.Path)} },
		func(_ context.Context, _ tools.Call, in lookup) (string, error) { return "value of " + in.Path, nil },
		tools.ReadOnly(), tools.Within(caps.ScopeUnder("crud/read", "", 0, 0)))
	registry := new(tools.Registry)
	if err := registry.Register(read); err != nil {
		t.Fatal(err)
	}
	gate, mint := toolstest.NewGate(registry, nil)
	key, err := ucan.KeyFromSeed([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	asks := append([]string{}, thinkingCalls...)
	for i, line := range asks {
		if line == tool2Start {
			asks[i] = `{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_2","name":"covia_read","input":{"path":"s/key"}}}`
		}
	}
	s := serve(t, events(11, asks...), hello(3))
	held := caps.Of(caps.MustCapability("w/", "crud/read"))
	agent := &runtime.Agent{
		ID: "Carol", Prompt: "You are Carol.", Tools: []*tools.Operation{read},
		Model:     s.model(t, func(o *anthropic.Options) { o.ThinkingBudget = 2048 }),
		Authority: mint.Agent(key.DID(), "Carol", func() caps.Set { return held }),
	}
	runner := runtime.New(gate, &runtime.Options{Now: func() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }})
	var outcomes []string
	var final runtime.TurnEnd
	for ev, err := range runner.Turn(t.Context(), agent, runtime.NewSession("s", nil), runtime.Say{Text: "Look around."}) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case runtime.ToolEnd:
			outcomes = append(outcomes, ev.CallID+" "+ev.Outcome)
		case runtime.TurnEnd:
			final = ev
		}
	}
	if diff := cmp.Diff([]string{"toolu_1 ok", "toolu_2 denied"}, outcomes); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	want := runtime.TurnEnd{Text: "Grüß Gott 👋", Calls: 2, Usage: used(40).Plus(used(12))}
	if diff := cmp.Diff(want, final); diff != "" {
		t.Errorf("end of the turn (-want +got):\n%s", diff)
	}
	golden(t, "turn", s.bodies[1])
	var first, second struct{ System, Tools json.RawMessage }
	for i, to := range []any{&first, &second} {
		if err := json.Unmarshal(s.bodies[i], to); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("what the API is to cache changes within a turn (-first +second):\n%s", diff)
	}
}
