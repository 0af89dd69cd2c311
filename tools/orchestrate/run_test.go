package orchestrate

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

func TestSpecs(t *testing.T) {
	tests := []struct{ name, value, input, want string }{
		{"input", `["input"]`, `{"a":1}`, `{"a":1}`},
		{"path", `["input","a","b"]`, `{"a":{"b":"x"}}`, `"x"`},
		{"index", `["input","a",1]`, `{"a":[1,2]}`, `2`},
		{"index as text", `["input","a","1"]`, `{"a":[1,2]}`, `2`},
		{"key as number", `["input","a",1]`, `{"a":{"1":true}}`, `true`},
		{"null is there", `["input","a"]`, `{"a":null}`, `null`},
		{"constant list", `["const",["input"]]`, `{}`, `["input"]`},
		{"scalar", `12.50`, `{}`, `12.50`},
		{"map", `{"x":["input","a"],"y":["const",null]}`, `{"a":1}`, `{"x":1,"y":null}`},
		{"texts", `["concat","a-",["input","n"],"-",true]`, `{"n":1.50}`, `"a-1.50-true"`},
		{"arrays", `["concat",["input","a"],["const",[3]]]`, `{"a":[1,2]}`, `[1,2,3]`},
		{"empty arrays", `["concat",["const",[]],["const",[]]]`, `{}`, `[]`},
		{"nested", `["concat",["concat","a","b"],"c"]`, `{}`, `"abc"`},
		{"number keeps its digits", `["input","n"]`, `{"n":12345678901234567890.10}`, `12345678901234567890.10`},
		{"no HTML escapes", `["input","n"]`, `{"n":"<&>"}`, `"<&>"`},

		{"missing", `["input","a","b"]`, `{"a":{}}`, `error: step 0 failed: input.value: ["input","a","b"] is missing: there is no "b" in the input`},
		{"missing deep", `{"x":["concat","a",["input","a"]]}`, `{}`, `error: step 0 failed: input.value.x[2]: ["input","a"] is missing: there is no "a" in the input`},
		{"beyond the end", `["input","a",2]`, `{"a":[1,2]}`, `error: step 0 failed: input.value: ["input","a",2] is missing: there is no 2 in the input`},
		{"into a scalar", `["input","a","b"]`, `{"a":1}`, `error: step 0 failed: input.value: ["input","a","b"] is missing: there is no "b" in the input`},
		{"joins an object", `["concat","a",["input"]]`, `{}`, `error: step 0 failed: input.value[2]: is an object: "concat" joins texts, numbers and booleans, or arrays alone`},
		{"joins text and array", `["concat","a",["const",[]]]`, `{}`, `error: step 0 failed: input.value[2]: is an array: "concat" joins texts, numbers and booleans, or arrays alone`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := open(t, plan(`[{"op":"test:echo","input":{"value":`+tt.value+`}}]`, `[0,"value"]`))
			got, err := h.run(t.Context(), tt.input)
			if err != nil {
				got = "error: " + err.Error()
			}
			if got != tt.want {
				t.Errorf("%s of %s\n got %s\nwant %s", tt.value, tt.input, got, tt.want)
			}
		})
	}
}

func TestRunRecords(t *testing.T) {
	h := open(t, plan(`[
		{"op":"test:echo","name":"first","input":{"value":["input","a"]}},
		{"op":"v/ops/test/echo","input":{"value":["concat",[0,"value"],"!"]}}]`, ""))
	got, err := h.run(t.Context(), `{"a":"x"}`)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"value":"x!"}`; got != want || h.book.output != want {
		t.Errorf("output = %s, recorded %s, want %s", got, h.book.output, want)
	}
	want := map[int]Step{
		0: {N: 0, Name: "first", Op: "test:echo", Status: complete, Input: json.RawMessage(`{"value":"x"}`), Output: json.RawMessage(`{"value":"x"}`)},
		1: {N: 1, Op: "v/ops/test/echo", Status: complete, Input: json.RawMessage(`{"value":"x!"}`), Output: json.RawMessage(`{"value":"x!"}`)},
	}
	if diff := cmp.Diff(want, h.book.steps); diff != "" {
		t.Errorf("records (-want +got)\n%s", diff)
	}
	history := []string{"0 PENDING", "1 PENDING", "0 STARTED", "0 COMPLETE", "1 STARTED", "1 COMPLETE"}
	if diff := cmp.Diff(history, h.book.history); diff != "" {
		t.Errorf("history (-want +got)\n%s", diff)
	}
	if job, _ := h.ran.Load("v/ops/test/echo"); job != "job-1" {
		t.Errorf("the step ran in job %v, want job-1", job)
	}
}

// Each waits for the other: one after the other they would never end.
func TestStepsRunSideBySide(t *testing.T) {
	h := open(t, plan(`[{"op":"test:give"},{"op":"test:take"}]`, ""))
	if _, err := h.run(t.Context(), `{}`); err != nil {
		t.Fatal(err)
	}
}

func TestAfterOrders(t *testing.T) {
	h := open(t, plan(`[{"op":"test:echo"},{"op":"test:echo"},{"op":"test:echo","after":[0,1]}]`, ""))
	if _, err := h.run(t.Context(), `{}`); err != nil {
		t.Fatal(err)
	}
	if got := h.book.history[len(h.book.history)-2:]; !cmp.Equal(got, []string{"2 STARTED", "2 COMPLETE"}) {
		t.Errorf("the last records are %v, want those of step 2", got)
	}
}

func TestManySteps(t *testing.T) {
	steps := strings.Repeat(`{"op":"test:echo","input":{"value":["input","n"]}},`, maxSteps-1)
	h := open(t, plan(`[`+steps+`{"op":"test:echo","input":{"value":[3,"value"]}}]`, ""))
	if got, err := h.run(t.Context(), `{"n":5}`); err != nil || got != `{"value":5}` {
		t.Errorf("run = %s, %v", got, err)
	}
}

func TestDenialInStep(t *testing.T) {
	h := open(t, plan(`[{"op":"test:echo"},{"op":"test:secret","name":"store-decision","after":[0]},{"op":"test:echo","after":[1]}]`, ""))
	_, err := h.run(t.Context(), `{}`, caps.MustCapability("", "invoke"), caps.MustCapability("w/", "crud/read"))
	var denial *caps.Denial
	if !errors.As(err, &denial) || denial.Operation != "v/ops/test/secret" {
		t.Fatalf("run = %v, want a denial of test:secret", err)
	}
	if want := "step 1 (store-decision) failed: Capability denied: v/ops/test/secret requires crud/write on w/secret."; !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %q does not begin with %q", err, want)
	}
	if got := sortedKeys(h.ran); !cmp.Equal(got, []string{"v/ops/test/echo"}) {
		t.Errorf("%v ran, want test:echo alone", got)
	}
	if got, want := h.book.statuses(), []string{complete, failed, cancelled}; !cmp.Equal(got, want) {
		t.Errorf("statuses = %v, want %v", got, want)
	}
	if h.book.failure == nil || h.book.failure.Error() != err.Error() || h.book.steps[1].Error != denial.Error() {
		t.Errorf("recorded %v and %q", h.book.failure, h.book.steps[1].Error)
	}
}

// The plan itself needs invoke on its own path, and nothing near it will do.
func TestPlanRequirement(t *testing.T) {
	h := open(t, plan(`[{"op":"test:echo"}]`, ""))
	for _, tt := range []struct {
		with, can string
		allowed   bool
	}{
		{"o/plan", "invoke", true},
		{"o/", "invoke", true},
		{"o/plans", "invoke", false},
		{"o/plan/x", "invoke", false},
		{"o/plan", "crud", false},
	} {
		_, err := h.run(t.Context(), `{}`, caps.MustCapability(tt.with, tt.can))
		var denial *caps.Denial
		denied := errors.As(err, &denial)
		if denied == tt.allowed || !denied && err != nil {
			t.Errorf("with %s on %q: run = %v, allowed should be %v", tt.can, tt.with, err, tt.allowed)
		}
	}
}

func TestFailureCancelsTheOthers(t *testing.T) {
	h := open(t, plan(`[{"op":"test:block"},{"op":"test:failWhenBlocked"},{"op":"test:echo","after":[0]}]`, ""))
	_, err := h.run(t.Context(), `{}`)
	var step *stepError
	if !errors.As(err, &step) || step.number != 1 || !errors.Is(err, errBroken) {
		t.Fatalf("run = %v, want the failure of step 1", err)
	}
	if got, want := h.book.statuses(), []string{cancelled, failed, cancelled}; !cmp.Equal(got, want) {
		t.Errorf("statuses = %v, want %v", got, want)
	}
}

func TestCallerCancels(t *testing.T) {
	h := open(t, plan(`[{"op":"test:block"},{"op":"test:echo","after":[0]}]`, ""))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-h.began
		cancel()
	}()
	_, err := h.run(ctx, `{}`)
	if !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "orchestration o/plan was cancelled") {
		t.Errorf("run = %v", err)
	}
	if got, want := h.book.statuses(), []string{cancelled, cancelled}; !cmp.Equal(got, want) {
		t.Errorf("statuses = %v, want %v", got, want)
	}
	if h.book.ended != 1 || h.book.failure == nil {
		t.Errorf("ended %d times with %v, want once with the failure", h.book.ended, h.book.failure)
	}
}

func TestPanics(t *testing.T) {
	var panicked *tools.PanicError
	t.Run("in a step", func(t *testing.T) {
		h := open(t, plan(`[{"op":"test:panic"}]`, ""))
		if _, err := h.run(t.Context(), `{}`); !errors.As(err, &panicked) {
			t.Errorf("run = %v, want a PanicError", err)
		}
	})
	t.Run("in the records", func(t *testing.T) {
		h := open(t, plan(`[{"op":"test:block"},{"op":"test:echo"}]`, ""))
		h.book.stepErr = func(s Step) error {
			if s.N == 1 && s.Status == complete {
				panic("oh")
			}
			return nil
		}
		if _, err := h.run(t.Context(), `{}`); !errors.As(err, &panicked) {
			t.Errorf("run = %v, want a PanicError", err)
		}
		if h.book.ended != 1 {
			t.Errorf("ended %d times, want once", h.book.ended)
		}
	})
}

// What cannot be recorded does not run.
func TestRecordsFail(t *testing.T) {
	t.Run("begin", func(t *testing.T) {
		h := open(t, plan(`[{"op":"test:echo"}]`, ""))
		h.book.beginErr = errBroken
		if _, err := h.run(t.Context(), `{}`); !errors.Is(err, errBroken) || len(sortedKeys(h.ran)) > 0 {
			t.Errorf("run = %v, ran %v", err, sortedKeys(h.ran))
		}
	})
	t.Run("start of a step", func(t *testing.T) {
		h := open(t, plan(`[{"op":"test:echo"}]`, ""))
		h.book.stepErr = func(s Step) error {
			if s.Status == started {
				return errBroken
			}
			return nil
		}
		_, err := h.run(t.Context(), `{}`)
		if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "record step 0") || len(sortedKeys(h.ran)) > 0 {
			t.Errorf("run = %v, ran %v", err, sortedKeys(h.ran))
		}
		if got := h.book.statuses(); !cmp.Equal(got, []string{cancelled}) {
			t.Errorf("statuses = %v, want %v", got, []string{cancelled})
		}
	})
}

func TestStrict(t *testing.T) {
	tests := []struct{ name, op, want string }{
		{"fits", "test:count", ""},
		{"no output schema", "o/bare", `step 0 failed: strict: o/bare declares no output schema: leave "strict" out`},
		{"unknown", "test:cuont", `step 0 failed: operation not found: "test:cuont" names none; did you mean test:count?`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := open(t, plan(`[{"op":"`+tt.op+`","strict":true}]`, ""))
			_, err := h.run(t.Context(), `{}`)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("run = %s, want %s", got, tt.want)
			}
			if ran := sortedKeys(h.ran); len(ran) > 0 {
				t.Errorf("%v ran unchecked", ran)
			}
		})
	}
	t.Run("does not fit", func(t *testing.T) {
		inner, err := Compile(t.Context(), "o/inner", json.RawMessage(`{"operation":{"adapter":"orchestrator","output":{"type":"object","properties":{"value":{"type":"string"}}},"steps":[{"op":"test:echo","input":{"value":1}}]}}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		h := open(t, plan(`[{"op":"o/inner","strict":true}]`, ""))
		if err := h.registry.Register(inner.Operation(&book{}, tools.Bound{})); err != nil {
			t.Fatal(err)
		}
		_, err = h.run(t.Context(), `{}`)
		if want := "step 0 failed: the output of o/inner does not fit its own schema: value: expected string, got number"; err == nil || err.Error() != want {
			t.Errorf("run = %v, want %s", err, want)
		}
	})
}

// A short document must not be able to multiply a large value.
func TestGrowthIsBounded(t *testing.T) {
	double := `["concat",` + strings.Repeat(`["input","a"],`, 50) + `["input","a"]]`
	h := open(t, plan(`[{"op":"test:echo","input":{"value":`+double+`}}]`, ""))
	_, err := h.run(t.Context(), `{"a":"`+strings.Repeat("x", 100_000)+`"}`)
	if !errors.Is(err, errTooLarge) {
		t.Errorf("run = %v, want %v", err, errTooLarge)
	}
}

func TestInputSchemaIsEnforced(t *testing.T) {
	h := open(t, `{"operation":{"adapter":"orchestrator","input":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","required":["id"]},"steps":[{"op":"test:echo"}]}}`)
	var input *tools.InputError
	if _, err := h.run(t.Context(), `{}`); !errors.As(err, &input) || len(sortedKeys(h.ran)) > 0 {
		t.Errorf("run = %v, want an input error", err)
	}
	if _, err := h.run(t.Context(), `{"id":1}`); err != nil {
		t.Errorf("run = %v", err)
	}
}

// The gate validates with a validator that knows no bounds, so what it is given
// is bounded before.
func TestHostileInputSchema(t *testing.T) {
	for name, schema := range map[string]string{
		"circular": `{"$ref":"#"}`,
		"doubling": `{"properties":{"a":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, `{"operation":{"adapter":"orchestrator","input":`+schema+`,"steps":[{"op":"test:echo"}]}}`)
			var input *tools.InputError
			_, err := h.run(t.Context(), strings.Repeat(`{"a":`, 60)+"{}"+strings.Repeat("}", 60))
			if !errors.As(err, &input) || len(sortedKeys(h.ran)) > 0 {
				t.Errorf("run = %v, want an input error", err)
			}
		})
	}
}

// An orchestration that runs itself ends at the call depth.
func TestRunsItself(t *testing.T) {
	h := open(t, plan(`[{"op":"o/plan"}]`, ""))
	if _, err := h.run(t.Context(), `{}`); !errors.Is(err, tools.ErrTooDeep) {
		t.Errorf("run = %v, want %v", err, tools.ErrTooDeep)
	}
}
