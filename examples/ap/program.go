// Package ap is an accounts-payable department of agents, and the demo of
// Usher: a scanner reads invoices, an enricher looks up what is known, an
// approver decides by the policy, a manager reports, and an adversary tries
// everything. Each holds the capabilities of its job, and the gate keeps it
// there.
//
// The agents, their capabilities, the orchestration and the data are a
// configuration, usher.yaml; what is tried at the gate stands in attempts.yaml.
// The models are programs, so nothing here needs a key or a network; [Providers]
// has them for any configuration. [Demo] runs the department, with these programs
// or with a model of the user's in their place.
package ap

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"usher/caps/value"
	"usher/runtime"
)

type object = map[string]any

// program is a model that is Go code: it answers with a text, or with a value as
// JSON. It runs from its beginning at every request. Calls that were made earlier
// in the turn return their results at once; the first that was not is what the
// model asks for now. So its only state is the conversation.
type program func(t *turn) (answer any)

// turn is what a program sees of one request.
type turn struct {
	system string
	task   string            // what was said to the agent
	done   map[string]string // results, by tool and arguments
}

// openCall is the call that a program cannot go on without.
type openCall runtime.CallDelta

// call returns what came of a tool call, and where it failed the reason, a denial
// for example. A call that was not made yet ends the program here.
func call[Out any](t *turn, tool string, arguments object) (out Out, problem string) {
	raw, err := json.Marshal(arguments)
	if err != nil {
		return out, err.Error()
	}
	result, made := t.done[tool+string(raw)]
	if !made {
		panic(openCall{Name: tool, Arguments: string(raw)}) // to generate, which asks for it
	}
	var failure struct{ Error, Message string }
	if json.Unmarshal([]byte(result), &failure) == nil && failure.Error != "" && failure.Message != "" {
		return out, failure.Message
	}
	if err := json.Unmarshal([]byte(result), &out); err != nil {
		return out, "the tool's answer cannot be read: " + err.Error()
	}
	return out, ""
}

// entry is a record and its key.
type entry[T any] struct {
	Key   string
	Value T
}

// all reads the records below a path, page by page.
func all[T any](t *turn, path string) (list []entry[T], problem string) {
	for {
		page, problem := call[struct {
			Count  int
			Values []entry[T]
		}](t, "covia_slice", object{"path": path, "offset": len(list)})
		if problem != "" {
			return nil, path + " could not be read: " + problem
		}
		list = append(list, page.Values...)
		if len(page.Values) == 0 || len(list) >= page.Count {
			return list, ""
		}
	}
}

var _ runtime.Model = program(nil)

// Generate runs the program on the conversation.
func (p program) Generate(_ context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		answer, next := p.generate(newTurn(req))
		if next != nil {
			c := runtime.CallDelta(*next)
			_ = yield(runtime.Chunk{Call: &c}, nil) && yield(runtime.Chunk{Finish: "tool_calls"}, nil)
			return
		}
		text, ok := answer.(string)
		if !ok {
			raw, err := value.Encode(answer)
			if err != nil {
				yield(runtime.Chunk{}, fmt.Errorf("write the answer: %w", err))
				return
			}
			text = string(raw)
		}
		yield(runtime.Chunk{Text: text, Finish: "stop"}, nil)
	}
}

// generate returns the program's answer, or the call that it needs first.
func (p program) generate(t *turn) (answer any, next *openCall) {
	defer func() {
		if r := recover(); r != nil {
			call, ok := r.(openCall)
			if !ok {
				panic(r)
			}
			next = &call
		}
	}()
	return p(t), nil
}

func newTurn(req *runtime.Request) *turn {
	t := &turn{system: req.System}
	made := make(map[string]string)
	for _, m := range req.Messages {
		switch m.Role {
		case runtime.RoleUser:
			t.task, t.done = m.Text, make(map[string]string)
			if _, rest, ok := strings.Cut(m.Text, "]\n"); ok && strings.HasPrefix(m.Text, runtime.TaskFrom) {
				t.task = rest // without the line that names another agent who asks
			}
		case runtime.RoleTool:
			t.done[made[m.CallID]] = m.Text
		default:
			for _, c := range m.Calls {
				made[c.ID] = c.Name + c.Arguments
			}
		}
	}
	return t
}

// Providers are the models of the department: ap/scanner, ap/enricher,
// ap/approver and ap/manager. They take no settings.
func Providers() runtime.Providers {
	out := make(runtime.Providers)
	for name, p := range map[string]program{"ap/scanner": scan, "ap/enricher": enrich, "ap/approver": approve, "ap/manager": manage} {
		out[name] = func(_ context.Context, cfg runtime.ModelConfig) (runtime.Model, error) {
			return follower{p}, runtime.NoSettings(cfg)
		}
	}
	return out
}
