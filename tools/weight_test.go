package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"usher/caps"
	"usher/tools"
	"usher/tools/fault"
	"usher/tools/toolstest"
)

// A small text can be a large value: what is too heavy is refused before anything
// decodes it, and to whoever may not call it is denied as ever.
func TestHeavyInputIsRefused(t *testing.T) {
	type anything struct {
		Value json.RawMessage `json:"value"`
	}
	registry, ran := new(tools.Registry), 0
	if err := registry.Register(tools.New("test:take", "Take anything.",
		func(anything) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} },
		func(context.Context, tools.Call, anything) (struct{}, error) { ran++; return struct{}{}, nil })); err != nil {
		t.Fatal(err)
	}
	g, mint := toolstest.NewGate(registry, nil)
	light := json.RawMessage(`{"value":"` + strings.Repeat("[],", 1<<20) + `"}`)
	heavy := json.RawMessage(`{"value":[` + strings.Repeat("[],", 1<<20) + `0]}`)
	user := mint.User(owner(t, 1))
	nobody := mint.Agent(owner(t, 1), "Ann", func() caps.Set { return caps.Set{} })
	if _, err := g.Invoke(t.Context(), user, tools.Invocation{Operation: "test:take", Input: light}); err != nil || ran != 1 {
		t.Errorf("a long text: %v", err)
	}
	if _, err := g.Invoke(t.Context(), user, tools.Invocation{Operation: "test:take", Input: heavy}); fault.Of(err) != fault.TooLarge || ran != 1 {
		t.Errorf("a million values: %v, want %v", err, fault.TooLarge)
	}
	_, err := g.Invoke(t.Context(), nobody, tools.Invocation{Operation: "test:take", Input: heavy})
	if _, denied := errors.AsType[*caps.Denial](err); !denied {
		t.Errorf("a million values from somebody without capabilities: %v, want a denial", err)
	}
}
