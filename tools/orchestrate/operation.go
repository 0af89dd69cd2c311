package orchestrate

import (
	"context"
	"encoding/json"
	"fmt"

	"usher/caps"
	"usher/caps/value"
	"usher/tools"
)

// Operation makes the plan callable. It needs invoke on the path of the plan;
// what the steps need is checked at each step, within what the authors of the plan
// may do then.
func (p *Plan) Operation(jobs Jobs, authors tools.Bound) *tools.Operation {
	return tools.Define(tools.Definition{
		Path:        p.path,
		Description: p.describe(),
		Input:       p.input,
		Output:      p.output,
		Needs:       func(json.RawMessage) []caps.Request { return []caps.Request{caps.Need("invoke", p.path)} },
		Exclusive:   true, // its steps may touch anything
		Scopes:      [][]caps.Scope{{caps.ScopeExactly("invoke", p.path)}},
		Starts:      p.foretold,
		Authors:     authors,
		Run: func(ctx context.Context, call tools.Call, input json.RawMessage) (any, error) {
			return p.execute(ctx, call, jobs, input)
		},
	})
}

func (p *Plan) describe() string {
	switch {
	case p.description != "":
		return p.description
	case p.title != "":
		return p.title
	default:
		return fmt.Sprintf("Orchestration %s.", p.path)
	}
}

// execute runs the plan and keeps its record.
func (p *Plan) execute(ctx context.Context, call tools.Call, jobs Jobs, input json.RawMessage) (json.RawMessage, error) {
	decoded, err := decodeFor(ctx, call, input)
	if err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	return jobs.Orchestrate(ctx, call, p.path, input, func(ctx context.Context, call tools.Call, record func(context.Context, Step) error) (json.RawMessage, error) {
		r := &run{
			plan: p, call: call, write: record,
			input:   decoded,
			outputs: make([]any, len(p.steps)),
			records: make([]Step, len(p.steps)),
		}
		return r.guarded(ctx)
	})
}

func (r *run) guarded(ctx context.Context) (output json.RawMessage, err error) {
	defer func() {
		if v := recover(); v != nil {
			output, err = nil, &tools.PanicError{Operation: r.plan.path, Value: v}
		}
	}()
	if err := r.all(ctx); err != nil {
		return nil, err
	}
	output, err = r.build(r.plan.result)
	if err != nil {
		return nil, value.Within("result", err)
	}
	return output, nil
}
