package ap

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"usher/runtime"
)

// program is a model that is Go code. It runs from its beginning at every
// request: calls that were made earlier in the turn return their results at
// once, the first ones that were not are what the model asks for now. So its
// only state is the conversation, and no call is ever made twice.
type program func(t *turn) (answer any)

// turn is what a program sees of one request.
type turn struct {
	system string
	task   string // what was said to the agent, the task of this turn
	done   map[string]result
	want   []runtime.CallDelta
}

// result is what came of a tool call.
type result struct {
	raw     json.RawMessage // when it succeeded
	problem string          // when it did not: the tool's message, a denial for example
}

// waiting is what a program answers while results are missing: nothing.
var waiting any

// call returns the result of a tool call, or asks for it.
func (t *turn) call(tool string, arguments any) (r result, ready bool) {
	raw, err := json.Marshal(arguments)
	if err != nil {
		return result{problem: err.Error()}, true
	}
	if r, ready = t.done[callKey(tool, string(raw))]; !ready {
		t.want = append(t.want, runtime.CallDelta{Index: len(t.want), Name: tool, Arguments: string(raw)})
	}
	return r, ready
}

func callKey(tool, arguments string) string { return tool + " " + arguments }

// into decodes the result; what cannot be used becomes the problem.
func (r *result) into(v any) bool {
	if r.problem == "" {
		if err := json.Unmarshal(r.raw, v); err != nil {
			r.problem = "the tool's answer could not be read: " + err.Error()
		}
	}
	return r.problem == ""
}

var _ runtime.Model = program(nil)

// Generate runs the program on the conversation.
func (p program) Generate(_ context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		t := newTurn(req)
		answer := p(t)
		if len(t.want) > 0 {
			for i := range t.want {
				if !yield(runtime.Chunk{Call: &t.want[i]}, nil) {
					return
				}
			}
			yield(runtime.Chunk{Finish: "tool_calls"}, nil)
			return
		}
		text, ok := answer.(string)
		if !ok {
			raw, err := json.Marshal(answer)
			if err != nil {
				yield(runtime.Chunk{}, fmt.Errorf("write the answer: %w", err))
				return
			}
			text = string(raw)
		}
		yield(runtime.Chunk{Text: text, Finish: "stop"}, nil)
	}
}

// correction begins what the runtime says to an answer that does not fit: the
// task is still the one before it.
const correction = "Your answer does not fit the required JSON Schema:"

func newTurn(req *runtime.Request) *turn {
	t := &turn{system: req.System, done: make(map[string]result)}
	start := 0
	for i, m := range req.Messages {
		if m.Role == runtime.RoleUser && !strings.HasPrefix(m.Text, correction) {
			t.task, start = task(m.Text), i
		}
	}
	made := make(map[string]string)
	for _, m := range req.Messages[min(start, len(req.Messages)):] {
		for _, c := range m.Calls {
			made[c.ID] = callKey(c.Name, c.Arguments)
		}
		if key, ok := made[m.CallID]; ok && m.Role == runtime.RoleTool {
			t.done[key] = readResult(m.Text)
		}
	}
	return t
}

// task is what is asked, without the line that names another agent who asks.
func task(text string) string {
	if _, rest, ok := strings.Cut(text, "]\n"); ok && strings.HasPrefix(text, runtime.TaskFrom) {
		return rest
	}
	return text
}

// readResult tells a tool's output from what the runtime says about a failure.
func readResult(text string) result {
	var failure struct {
		Error   string `json:"error"`
		Message string `json:"message"`
	}
	raw := json.RawMessage(text)
	if !json.Valid(raw) {
		return result{problem: "the tool's answer was cut"}
	}
	if json.Unmarshal(raw, &failure) == nil && failure.Error != "" && failure.Message != "" {
		return result{problem: failure.Message}
	}
	return result{raw: raw}
}
