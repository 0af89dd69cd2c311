package config

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"usher/caps/value"
	"usher/tools/orchestrate"
)

// orchestrated is an orchestration as far as lint looks into it.
type orchestrated struct{ steps []orchestratedStep }

type orchestratedStep struct {
	Op    string          `json:"op"`
	Input json.RawMessage `json:"input"`
}

// orchestrations finds those that do not compile, and steps that lead nowhere.
// All are known before any is looked into, since they may call each other.
func (l *linter) orchestrations() {
	for _, d := range l.config.Data {
		if strings.HasPrefix(d.Path, "o/") {
			l.callable(d)
		}
	}
	var good []Orchestration
	for _, o := range l.config.Orchestrations {
		steps, _, err := stepsOf(o.Document)
		// One that is faulty is still one that a tool may mean.
		l.operations[o.Path()] = orchestrated{steps}
		if _, fault := orchestrate.Compile(context.Background(), o.Path(), o.Document, nil); fault != nil {
			err = fault
		}
		if err != nil {
			l.report(LevelError, l.config.at("orchestration", o.ID), "orchestration "+o.ID, err.Error(), "")
			continue
		}
		good = append(good, o)
	}
	for _, o := range good {
		steps := l.operations[o.Path()].steps
		for i, step := range steps {
			at, name := l.config.at("orchestration", o.ID, "steps", strconv.Itoa(i)), "orchestration "+o.ID
			t, err := l.resolve(step.Op)
			if err != nil || len(t.ops) > 1 || strings.HasSuffix(step.Op, ":*") {
				advice := "name one operation"
				if err != nil {
					advice = err.Error()
				}
				l.report(LevelError, at, name, fmt.Sprintf("step %d calls %q, which is no operation", i, step.Op), advice)
				continue
			}
			l.calledAgent(o, t, step, steps, i, at)
		}
	}
}

// callable takes in data that is an operation: an orchestration or a pin.
func (l *linter) callable(d Datum) {
	steps, adapter, err := stepsOf(d.Value)
	if err != nil || adapter == "" {
		return
	}
	if adapter != orchestrate.Adapter {
		steps = []orchestratedStep{{Op: adapter}}
	}
	l.operations[d.Path] = orchestrated{steps}
	v, err := value.Decode(d.Value, value.MaxDepth)
	if err == nil {
		err = orchestrate.Check(context.Background(), v, nil)
	}
	if err != nil {
		l.report(LevelError, l.config.at("data", d.Path), "data "+d.Path, err.Error(), "")
	}
}

// stepsOf looks into a document that may be no orchestration at all.
func stepsOf(doc json.RawMessage) (steps []orchestratedStep, adapter string, err error) {
	var d struct {
		Operation struct {
			Adapter string             `json:"adapter"`
			Steps   []orchestratedStep `json:"steps"`
		} `json:"operation"`
	}
	err = json.Unmarshal(doc, &d)
	return d.Operation.Steps, d.Operation.Adapter, err
}

// calledAgent finds steps that work on an agent that is not there.
func (l *linter) calledAgent(o Orchestration, t tool, step orchestratedStep, steps []orchestratedStep, i int, at place) {
	if len(t.ops) == 0 || !strings.HasPrefix(t.ops[0].Path(), "v/ops/agent/") || l.makes(step) != "" {
		return
	}
	id := constant(step.Input, "agentId")
	made := func(s orchestratedStep) bool { return l.makes(s) == id }
	if id == "" || l.agents[id] != nil || slices.ContainsFunc(steps, made) {
		return
	}
	l.report(LevelError, at, "orchestration "+o.ID, fmt.Sprintf("step %d calls agent %q, which is not there", i, id), l.nearestAgent(id))
}

// makes returns the agent that a step creates, or "".
func (l *linter) makes(step orchestratedStep) string {
	t, err := l.resolve(step.Op)
	if err != nil || len(t.ops) != 1 {
		return ""
	}
	if p := t.ops[0].Path(); p != "v/ops/agent/create" && p != "v/ops/agent/fork" {
		return ""
	}
	return constant(step.Input, "agentId")
}

// constant returns the text that a field of a step's input always has; "" when
// it depends on the run.
func constant(input json.RawMessage, key string) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil {
		return ""
	}
	var value string
	if json.Unmarshal(fields[key], &value) == nil {
		return value
	}
	var spec []json.RawMessage
	if json.Unmarshal(fields[key], &spec) != nil || len(spec) != 2 || string(spec[0]) != `"const"` {
		return ""
	}
	if json.Unmarshal(spec[1], &value) != nil {
		return ""
	}
	return value
}
