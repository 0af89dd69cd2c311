package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"usher/caps"
	"usher/tools"
	"usher/tools/schema"
	"usher/tools/toolstest"
)

// watcher is a guard that notes that it was asked.
type watcher struct{ asked *[]string }

func (w watcher) Guard(context.Context, *tools.Ruling) (string, string) {
	*w.asked = append(*w.asked, "guard")
	return tools.Allowed, ""
}

// A denied call costs its decoding: nothing is foreseen of it, validated, or
// asked of guards.
func TestADenialComesFirst(t *testing.T) {
	var asked []string
	input, err := schema.Compile(t.Context(), json.RawMessage(`{"type":"object","required":["path"],"properties":{"path":{"type":"string","pattern":"^(w/)+$"}}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	op := tools.Define(tools.Definition{
		Path: "o/heavy", Input: input,
		Needs:  func(json.RawMessage) []caps.Request { return []caps.Request{caps.Need("invoke", "o/heavy")} },
		Scopes: [][]caps.Scope{{caps.ScopeExactly("invoke", "o/heavy")}},
		Starts: func(json.RawMessage) []tools.Invocation {
			asked = append(asked, "starts")
			return []tools.Invocation{}
		},
		Run: func(context.Context, tools.Call, json.RawMessage) (any, error) {
			asked = append(asked, "run")
			return nil, nil
		},
	})
	registry := new(tools.Registry)
	if err := registry.Register(op); err != nil {
		t.Fatal(err)
	}
	g, mint := toolstest.NewGate(registry, &tools.GateOptions{Guards: []tools.Guard{watcher{&asked}}})
	me := owner(t, 1)
	root := mint.User(me).InTurn("t")
	for name, within := range map[string]caps.Set{
		"nothing":     {},
		"another":     caps.Of(caps.MustCapability("o/light", "invoke")),
		"may read it": caps.Of(caps.MustCapability("o/heavy", "crud/read")),
	} {
		t.Run(name, func(t *testing.T) {
			asked = nil
			_, err := g.Invoke(t.Context(), root.Narrow(within), tools.Invocation{Operation: "o/heavy", Input: json.RawMessage(`{"path":7}`)})
			if denial := (*caps.Denial)(nil); !errors.As(err, &denial) {
				t.Errorf("Invoke = %v, want a denial before a complaint about the input", err)
			}
			if spent := root.Meter().Amounts(); len(asked) > 0 || spent.Steps+spent.Patterns > 0 {
				t.Errorf("a denied call asked %v and spent %+v", asked, spent)
			}
		})
	}
}
