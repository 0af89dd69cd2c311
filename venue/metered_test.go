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

// costlySchema takes above 50 kB for each of its patterns once it is compiled.
func costlySchema(patterns int) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","allOf":[`)
	for i := range patterns {
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
	const steps = 12
	costly, opts := costlySchema(20), *with(venuetest.Says("{}"))
	if testing.Short() { // compiling takes seconds: a quarter of the schema, and of the limit
		costly, opts.Limits.Patterns = costlySchema(5), 10<<20/4
	}
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
			v := open(t, &opts)
			alice := user(t, v, "alice")
			invoke(t, alice, "agent:create", `{"agentId":"plain"}`)
			for i := range steps {
				if !strings.Contains(step, "o/old-#") {
					break
				}
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
	opts, size := *with(new(puppet)), 900_000
	if testing.Short() { // a tenth of each
		opts.Limits.Values, size = 64<<20/10, size/10
	}
	v := open(t, &opts)
	alice := user(t, v, "alice")
	invoke(t, alice, "covia:write", `{"path":"w/light","value":"`+strings.Repeat("x", size)+`"}`)
	invoke(t, alice, "covia:write", `{"path":"w/heavy","value":[`+strings.Repeat(`{"":0},`, size*2/15)+`0]}`)
	for path, want := range map[string]error{"w/light": nil, "w/heavy": &tools.LimitError{Kind: tools.Bytes}} {
		invoke(t, alice, "covia:write", `{"path":"o/all","value":`+flow(4, `{"op":"covia:read","input":{"path":"`+path+`"}}`)+`}`)
		if _, err := alice.Invoke(t.Context(), "o/all", json.RawMessage(`{}`)); !errors.Is(err, want) {
			t.Errorf("reading %s four times = %v, want %v", path, err, want)
		}
	}
}
