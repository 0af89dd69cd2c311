package venue_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"usher/tools"
	"usher/venue/venuetest"
)

// costlySchema takes above a megabyte once it is compiled.
func costlySchema() string {
	var b strings.Builder
	b.WriteString(`{"type":"object","allOf":[`)
	for i := range 20 {
		fmt.Fprintf(&b, `{"properties":{"x":{"pattern":"(a|b%d){500}"}}},`, i)
	}
	return b.String() + `true]}`
}

// flow is a program of steps, made from one of their numbers each.
func flow(n int, step string) string {
	steps := make([]string, n)
	for i := range steps {
		steps[i] = strings.ReplaceAll(step, "#", fmt.Sprint(i))
	}
	return `{"operation":{"adapter":"orchestrator","steps":[` + strings.Join(steps, ",") + `]}}`
}

// Whoever compiles a schema that somebody stored or sent pays for it from the meter
// of the call tree, wherever that is.
func TestSchemasAreCharged(t *testing.T) {
	costly := costlySchema()
	const steps = 12
	program := `{"operation":{"adapter":"orchestrator","input":` + costly + `,"output":` + costly + `,"steps":[{"op":"json:select","input":{"key":"a","cases":{}}}]}}`
	for name, step := range map[string]string{
		"what a new agent answers":   `{"op":"agent:create","input":{"agentId":"new-#","config":{"output":["const",` + costly + `]}}}`,
		"what an agent now answers":  `{"op":"agent:update","input":{"agentId":"plain","config":{"output":["const",` + costly + `]}}}`,
		"what a request asks for":    `{"op":"agent:request","input":{"agentId":"plain","input":"go","responseSchema":["const",` + costly + `]}}`,
		"a program that is written":  `{"op":"covia:write","input":{"path":"o/new-#","value":["const",` + program + `]}}`,
		"programs that are run":      `{"op":"o/old-#"}`,
		"programs that must fit":     `{"op":"o/old-#","strict":true}`,
		"programs behind their pins": `{"op":"grid:run","input":{"operation":"o/old-#"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			v := open(t, with(venuetest.Says("{}")))
			alice := user(t, v, "alice")
			invoke(t, alice, "agent:create", `{"agentId":"plain"}`)
			invoke(t, alice, "agent:create", `{"agentId":"strict","config":{"output":`+costly+`}}`)
			for i := range steps {
				invoke(t, alice, "covia:write", fmt.Sprintf(`{"path":"o/old-%d","value":%s}`, i, program))
			}
			invoke(t, alice, "covia:write", `{"path":"o/all","value":`+flow(steps, step)+`}`)
			_, err := alice.Invoke(t.Context(), "o/all", json.RawMessage(`{}`))
			if want := (&tools.LimitError{Kind: tools.Patterns}); !errors.Is(err, want) {
				t.Errorf("a program of %d such steps ended with %v, want %v", steps, err, "the limit of patterns")
			}
		})
	}
}

// What the steps of a program return is charged by what it takes in memory, which
// can be many times its text.
func TestOutputsAreCharged(t *testing.T) {
	v := open(t, with(new(puppet)))
	alice := user(t, v, "alice")
	invoke(t, alice, "covia:write", `{"path":"w/light","value":"`+strings.Repeat("x", 900_000)+`"}`)
	invoke(t, alice, "covia:write", `{"path":"w/heavy","value":[`+strings.Repeat(`{"":0},`, 120_000)+`0]}`)
	for path, want := range map[string]error{"w/light": nil, "w/heavy": &tools.LimitError{Kind: tools.Bytes}} {
		invoke(t, alice, "covia:write", `{"path":"o/all","value":`+flow(4, `{"op":"covia:read","input":{"path":"`+path+`"}}`)+`}`)
		if _, err := alice.Invoke(t.Context(), "o/all", json.RawMessage(`{}`)); !errors.Is(err, want) {
			t.Errorf("reading %s four times = %v, want %v", path, err, want)
		}
	}
}
