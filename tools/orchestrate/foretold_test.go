package orchestrate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a run would start is told with what is known of it before it runs.
func TestForetold(t *testing.T) {
	p, err := Compile(t.Context(), "o/flow", json.RawMessage(plan(
		`[{"op":"covia:read","input":{"path":["concat","w/",["input","name"]]}},`+
			`{"op":"grid:run","input":{"operation":["input","op"],"input":{"given":["const",[1]],"read":[0,"value"],"missing":["input","none"]}}},`+
			`{"op":"json:merge","input":[1]}]`, `[2]`)), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, inv := range p.forecast(json.RawMessage(`{"name":"a<b","op":"secret:set"}`)) {
		got = append(got, inv.Operation+" "+string(inv.Input))
	}
	want := []string{
		`covia:read {"path":"w/a<b"}`,
		`grid:run {"input":{"given":[1],"missing":null,"read":null},"operation":"secret:set"}`,
		`json:merge null`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := p.forecast(json.RawMessage(`no JSON`)); got != nil {
		t.Errorf("of no input it tells %v", got)
	}
}

// Looking ahead takes no more for all steps than one step may be given.
func TestForetoldIsBounded(t *testing.T) {
	p, err := Compile(t.Context(), "o/flow", json.RawMessage(plan(strings.TrimSuffix(`[`+strings.Repeat(`{"op":"test:echo","input":{"value":["input","v"]}},`, 4), ",")+`]`, "")), nil)
	if err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int]int{maxInput / 8: 4, maxInput / 3: 0} {
		if got := p.forecast(json.RawMessage(`{"v":"` + strings.Repeat("x", size) + `"}`)); len(got) != want {
			t.Errorf("of %d bytes in 4 steps it tells %d steps, want %d", size, len(got), want)
		}
	}
}
