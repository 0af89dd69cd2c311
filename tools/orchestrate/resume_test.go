package orchestrate

import (
	"encoding/json"
	"testing"
)

// What goes on finds its steps as a store gives them back, which writes JSON in another
// way: that is no change of the orchestration.
func TestResumeReadsWhatWasStored(t *testing.T) {
	for name, value := range map[string]string{
		"signs that HTML has": `"<a> & <b>"`,
		"line separators":     "\"a\u2028b\"",
		"spaces and order":    `{"b": [1.50, null], "a": "x"}`,
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, plan(`[{"op":"test:echo","input":{"value":["input","v"]}}]`, `[0,"value"]`))
			want, err := h.run(t.Context(), `{"v":`+value+`}`)
			if err != nil {
				t.Fatal(err)
			}
			left := h.book.steps[0]
			left.Status, left.Output = waiting, nil
			raw, err := json.Marshal([]Step{left})
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(raw, &h.book.past); err != nil {
				t.Fatal(err)
			}
			if got, err := h.run(t.Context(), `{"v":`+value+`}`); err != nil || got != want {
				t.Errorf("it goes on as %s, %v, want %s", got, err, want)
			}
			if _, err := h.run(t.Context(), `{"v":"another"}`); err == nil {
				t.Error("it goes on with another input than it began with")
			}
		})
	}
}

// An output that was too large to be kept is not mistaken for its size: what needs it
// does not go on.
func TestResumeKnowsWhatWasLost(t *testing.T) {
	size := json.RawMessage(`{"truncated":true,"size":700000}`)
	for name, tt := range map[string]struct {
		steps, result, want string
	}{
		"a step needs it":   {`{"op":"test:echo"},{"op":"test:echo","input":{"value":[0,"size"]}}`, `[1]`, "step 1 failed: input.value: what step 0 returned was too large to be kept when the venue stopped: start the orchestration anew"},
		"the result has it": {`{"op":"test:echo"},{"op":"test:echo"}`, `[0]`, "result: what step 0 returned was too large to be kept when the venue stopped: start the orchestration anew"},
		"nothing needs it":  {`{"op":"test:echo"},{"op":"test:echo","input":{"value":1}}`, `[1,"value"]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, plan("["+tt.steps+"]", tt.result))
			h.book.past = []Step{{Op: "test:echo", Status: complete, Output: size, Lost: true}}
			got, err := h.run(t.Context(), `{}`)
			if tt.want == "" {
				if err != nil || got != "1" {
					t.Errorf("it goes on as %s, %v", got, err)
				}
			} else if err == nil || err.Error() != tt.want {
				t.Errorf("it goes on as %s, %v, want %s", got, err, tt.want)
			}
		})
	}
}
