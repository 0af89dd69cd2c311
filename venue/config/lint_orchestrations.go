package config

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"usher/caps/value"
	"usher/tools/orchestrate"
)

// orchestrations finds those that do not compile, and steps that lead nowhere.
// All are known before any is looked into, since they may call each other.
func (l *linter) orchestrations() {
	for _, d := range l.config.Data {
		if strings.HasPrefix(d.Path, "o/") {
			l.callable(d)
		}
	}
	for _, o := range l.config.Orchestrations {
		l.operations[o.Path()] = true // a faulty one is still one that a tool may mean
	}
	for _, o := range l.config.Orchestrations {
		if _, err := orchestrate.Compile(context.Background(), o.Path(), o.Document, nil); err != nil {
			l.report(LevelError, l.config.at("orchestration", o.ID), "orchestration "+o.ID, err.Error(), "")
			continue
		}
		for i, called := range stepsOf(o.Document) {
			t, err := l.resolve(called)
			advice := "name one operation"
			if err != nil {
				advice = err.Error()
			} else if len(t.ops) <= 1 && !strings.HasSuffix(called, ":*") {
				continue
			}
			l.report(LevelError, l.config.at("orchestration", o.ID, "steps", strconv.Itoa(i)), "orchestration "+o.ID,
				fmt.Sprintf("step %d calls %q, which is no operation", i, called), advice)
		}
	}
}

// callable takes in data that is an operation: an orchestration or a pin.
func (l *linter) callable(d Datum) {
	v, err := value.Decode(d.Value, value.MaxDepth)
	if err == nil {
		_, l.operations[d.Path] = value.At(v, "operation", "adapter")
		err = orchestrate.Check(context.Background(), v, nil)
	}
	if err != nil {
		l.report(LevelError, l.config.at("data", d.Path), "data "+d.Path, err.Error(), "")
	}
}

// stepsOf are the operations that the steps of a document call.
func stepsOf(doc json.RawMessage) (called []string) {
	var d struct {
		Operation struct {
			Steps []struct {
				Op string `json:"op"`
			} `json:"steps"`
		} `json:"operation"`
	}
	_ = json.Unmarshal(doc, &d) // it has been compiled
	for _, step := range d.Operation.Steps {
		called = append(called, step.Op)
	}
	return called
}
