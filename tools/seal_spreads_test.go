package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/caps"
	"usher/tools"
)

type startInput struct {
	Operation string          `json:"operation"`
	Input     json.RawMessage `json:"input,omitempty"`
	Hidden    bool            `json:"hidden,omitempty"` // what it starts is not told beforehand
}

// starter runs another operation and notes what its call knows of seals,
// before and after.
func starter(seen *[]bool) *tools.Operation {
	return tools.New("test:start", "Start.",
		func(startInput) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} },
		func(ctx context.Context, call tools.Call, in startInput) (json.RawMessage, error) {
			before := call.Authority().Sealed()
			res, err := call.Invoke(ctx, in.Operation, in.Input)
			*seen = append(*seen, before, call.Authority().Sealed(), call.Authority().UnderSeal())
			return res.Output, err
		},
		tools.Starting(func(raw json.RawMessage) (string, json.RawMessage) {
			var in startInput
			if json.Unmarshal(raw, &in) != nil || in.Hidden {
				return "", nil
			}
			return in.Operation, in.Input
		}))
}

// A call is sealed by what it runs at any depth, beforehand where its input
// tells, and at the latest when it has run.
func TestASealSpreadsToWhatACallCameOf(t *testing.T) {
	const secret = "hunter2"
	keep := tools.New("test:keep", "Keep.",
		func(in pathInput) []caps.Request { return []caps.Request{caps.Need("crud/write", in.Path)} },
		func(_ context.Context, _ tools.Call, in pathInput) (string, error) {
			if in.Path == "w/bad" {
				return "", errors.New("cannot keep " + in.Value)
			}
			return "kept", nil
		}, tools.Sealed())
	keeps := func(path string) string { return `{"path":"` + path + `","value":"` + secret + `"}` }
	within := func(op, input, more string) string {
		return `{"operation":"` + op + `","input":` + input + more + `}`
	}
	for name, tc := range map[string]struct {
		op, input string
		sealed    bool
		seen      []bool // innermost first: sealed before, after, and under a seal
		fails     bool
	}{
		"the operation itself": {op: "test:keep", input: keeps("w/a"), sealed: true},
		"within one that tells": {
			op: "test:start", input: within("test:keep", keeps("w/a"), ""), sealed: true, seen: []bool{true, true, true},
		},
		"within one that does not": {
			op: "test:start", input: within("test:keep", keeps("w/a"), `,"hidden":true`), sealed: true, seen: []bool{false, true, true},
		},
		"two deep": {
			op: "test:start", input: within("test:start", within("test:keep", keeps("w/a"), ""), ""), sealed: true,
			seen: []bool{true, true, true, true, true, true},
		},
		"two deep, told to nobody": {
			op: "test:start", input: within("test:start", within("test:keep", keeps("w/a"), `,"hidden":true`), `,"hidden":true`), sealed: true,
			seen: []bool{false, true, true, false, true, true},
		},
		"one that fails":     {op: "test:start", input: within("test:keep", keeps("w/bad"), `,"hidden":true`), sealed: true, seen: []bool{false, true, true}, fails: true},
		"a denial tells all": {op: "test:start", input: within("test:keep", keeps("o/a"), `,"hidden":true`), sealed: true, seen: []bool{false, false, false}, fails: true},
		"a name that is not": {op: "test:start", input: within("test:kept", keeps("w/a"), ""), sealed: true, seen: []bool{false, false, false}, fails: true},
		"nothing sealed":     {op: "test:start", input: within("v/ops/test/write", `{"path":"w/a"}`, ""), seen: []bool{false, false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			var seen []bool
			ledger := new(memoryLedger)
			g, mint := gate(t, ledger, keep, starter(&seen), tools.New("test:write", "Write.",
				func(in pathInput) []caps.Request { return []caps.Request{caps.Need("crud/write", in.Path)} },
				func(context.Context, tools.Call, pathInput) (bool, error) { return true, nil }))
			auth := mint.Agent(owner(t, 1), "Ann", "Ann", fixed(caps.MustCapability("w/", "crud"), caps.MustCapability("", "invoke")))
			res, err := g.Invoke(t.Context(), auth, tools.Invocation{Operation: tc.op, Input: json.RawMessage(tc.input)})
			if (err != nil) != tc.fails || res.Sealed != tc.sealed {
				t.Errorf("sealed %v, %v; want %v", res.Sealed, err, tc.sealed)
			}
			if diff := cmp.Diff(tc.seen, seen); diff != "" {
				t.Errorf("what the calls saw: %s", diff)
			}
			for _, failure := range ledger.outcomes {
				if failure != nil && strings.Contains(failure.Error(), secret) {
					t.Errorf("the ledger has %q", failure)
				}
			}
		})
	}
}
