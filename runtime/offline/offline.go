// Package offline has a model that is a small Go program: it takes plain
// instructions such as "read w/notes/today" and makes the tool calls that they
// mean. It needs no key and no network, so that agents, their tools and their
// capabilities can be tried before a language model is plugged in.
// Configurations name it "offline"; see [Provider].
package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"usher/caps/value"
	"usher/runtime"
)

// Name is the provider's name in configurations.
const Name = "offline"

// Provider makes the model. It takes no settings.
func Provider(_ context.Context, cfg runtime.ModelConfig) (runtime.Model, error) {
	if err := runtime.NoSettings(cfg); err != nil {
		return nil, err
	}
	return Model{}, nil
}

// Model follows instructions, one a line.
type Model struct{}

var (
	_ runtime.Model     = Model{}
	_ runtime.Describer = Model{}
)

// About says who answers.
func (Model) About() runtime.About { return runtime.About{Provider: Name, Model: Name} }

// usage is what the model says when it is told nothing that it understands.
const usage = `I am the offline model: I follow plain instructions, one a line. Try
  list w/
  read w/notes/hello
  write w/notes/hello Good morning
  append w/log A line
  delete w/notes/hello
  copy w/a w/b
  ask AGENT What is new?
  tell AGENT Come by later
  call covia_read {"path": "w/notes/hello"}
Whether I may is decided by the gate, not by me.`

// Generate answers the last message of the user: with the tool calls that its
// instructions mean, one after the other as they stand there, and then with
// what came of them.
func (Model) Generate(_ context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		said, results := lastExchange(req.Messages)
		calls, err := instructions(said)
		answer, finish := runtime.Chunk{Text: usage}, "stop"
		switch {
		case err != nil:
			answer.Text = err.Error()
		case len(results) < len(calls):
			answer, finish = runtime.Chunk{Call: &calls[len(results)]}, "tool_calls"
		case len(calls) > 0:
			answer.Text = report(results)
		}
		_ = yield(answer, nil) && yield(runtime.Chunk{Finish: finish}, nil)
	}
}

// lastExchange returns what the user said last and the tool results since.
func lastExchange(messages []runtime.Message) (said string, results []runtime.Message) {
	for _, m := range messages {
		switch m.Role {
		case runtime.RoleUser:
			said, results = m.Text, nil
		case runtime.RoleTool:
			results = append(results, m)
		default:
		}
	}
	return said, results
}

// verbs are the instructions: the tool of each, and its arguments in order.
// The last argument takes the rest of the line.
var verbs = map[string]struct {
	tool   string
	fields []string
}{
	"list":   {"covia_list", []string{"path"}},
	"read":   {"covia_read", []string{"path"}},
	"write":  {"covia_write", []string{"path", "value"}},
	"append": {"covia_append", []string{"path", "value"}},
	"delete": {"covia_delete", []string{"path"}},
	"copy":   {"covia_copy", []string{"from", "to"}},
	"ask":    {"agent_request", []string{"agentId", "input"}},
	"tell":   {"agent_message", []string{"agentId", "message"}},
}

func instructions(text string) (calls []runtime.CallDelta, err error) {
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.TrimSpace(rest)
		if strings.EqualFold(word, "call") {
			tool, arguments, _ := strings.Cut(rest, " ")
			calls = append(calls, runtime.CallDelta{Name: tool, Arguments: strings.TrimSpace(arguments)})
			continue
		}
		verb, known := verbs[strings.ToLower(word)]
		if !known {
			continue
		}
		arguments := make(map[string]json.RawMessage)
		for i, field := range verb.fields {
			value := rest
			if i < len(verb.fields)-1 {
				value, rest, _ = strings.Cut(rest, " ")
				rest = strings.TrimSpace(rest)
			}
			if value == "" {
				return nil, fmt.Errorf("%s needs %s: %s", word, strings.Join(verb.fields, " and "), strings.TrimSpace(line))
			}
			arguments[field] = jsonValue(field, value)
		}
		raw, err := json.Marshal(arguments)
		if err != nil {
			return nil, err
		}
		calls = append(calls, runtime.CallDelta{Name: verb.tool, Arguments: string(raw)})
	}
	return calls, nil
}

// jsonValue takes a value to store as JSON where it is JSON, and as text otherwise.
func jsonValue(field, s string) json.RawMessage {
	if field == "value" && json.Valid([]byte(s)) {
		return json.RawMessage(s)
	}
	return value.AppendString(nil, s)
}

// report tells what came of the calls, a line each.
func report(results []runtime.Message) string {
	var lines []string
	for _, m := range results {
		var failed struct{ Error, Message, Hint string }
		if json.Unmarshal([]byte(m.Text), &failed) != nil || failed.Error == "" {
			lines = append(lines, m.Name+": "+m.Text)
			continue
		}
		if lines = append(lines, failed.Message); failed.Hint != "" {
			lines = append(lines, failed.Hint)
		}
	}
	return strings.Join(lines, "\n")
}
