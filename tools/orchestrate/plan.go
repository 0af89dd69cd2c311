// Package orchestrate makes operations out of others: a document lists steps,
// says where the input of each comes from, and runs as one operation (COG-12).
//
// [Compile] turns a document into a [Plan] or says what is wrong with it and
// what to write; [Plan.Operation] makes the plan callable; [Check] is for those
// who store documents.
//
// A value in a document is a spec:
//
//	["input", "invoice", "id"]     what the caller sent, by a path
//	[0, "record", "total"]         what step 0 returned, by a path
//	["const", ["a", "b"]]          the value as it stands
//	["concat", "INV-", [0, "id"]]  texts joined, or arrays joined
//	{"path": ["input", "path"]}    an object of specs
//	"w/notes"                      any other scalar stands for itself
//
// Steps refer to earlier steps only, so a plan always ends. Those whose inputs
// are ready run side by side. Each goes through the gate with the authority of
// the caller: a plan can do what its caller can do, step by step, and no more.
package orchestrate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"usher/caps"
	"usher/caps/value"
	"usher/tools"
	"usher/tools/schema"
)

// Plan is a compiled orchestration. It is immutable and safe for concurrent use.
type Plan struct {
	path          string
	description   string
	input, output *schema.Schema
	steps         []*step
	result        any // a spec
}

type step struct {
	number int
	name   string
	op     string
	input  any // a spec
	strict bool
	needs  []int // steps that must be complete before, sorted
}

func (s *step) String() string {
	if s.name == "" {
		return fmt.Sprintf("step %d", s.number)
	}
	return fmt.Sprintf("step %d (%s)", s.number, s.name)
}

// Compile compiles the document that is kept at path, for example
// "o/ap-pipeline", and pays for its schemas. The error says where the fault is and
// what to write.
func Compile(ctx context.Context, path string, doc json.RawMessage, charge schema.Charge) (*Plan, error) {
	at, err := caps.ParseResource(path)
	if err != nil {
		return nil, fmt.Errorf("orchestration %q: %w", path, err)
	}
	if !strings.HasPrefix(at.String(), "o/") {
		return nil, fmt.Errorf("orchestration %q: operations are kept below o/: write o/<name>", path)
	}
	p, err := parse(ctx, doc, charge)
	if err != nil {
		return nil, fmt.Errorf("orchestration %s: %w", at, err)
	}
	p.path = at.String()
	return p, nil
}

// Check says whether a value may be stored where operations are kept, and pays as
// [Compile] does. It is nil for a value that is no operation at all, and for one of
// another adapter.
func Check(ctx context.Context, v any, charge schema.Charge) error {
	operation, callable := value.At(v, "operation")
	if !callable {
		return nil
	}
	fields, ok := operation.(map[string]any)
	if !ok {
		return fmt.Errorf(`operation: it is not an object: write {"adapter":"covia:read"} or {"adapter":%q,"steps":[…]}`, adapter)
	}
	name, _ := fields["adapter"].(string)
	if name == "" {
		return fmt.Errorf(`operation.adapter: it is missing or not a string: write the operation to run, for example "covia:read", or %q`, adapter)
	}
	_, steps := fields["steps"]
	if kind, _ := value.At(v, "type"); name != adapter && !steps && kind != "orchestration" {
		return nil
	}
	if _, err := parse(ctx, value.Append(nil, v), charge); err != nil {
		return fmt.Errorf("orchestration: %w", err)
	}
	return nil
}

// Operation makes the plan callable. It needs invoke on the path of the plan;
// what the steps need is checked at each step, within what the authors of the plan
// may do then.
func (p *Plan) Operation(jobs Jobs, authors tools.Bound) *tools.Operation {
	return tools.Define(tools.Definition{
		Path:        p.path,
		Description: cmp.Or(p.description, fmt.Sprintf("Orchestration %s.", p.path)),
		Input:       p.input,
		Output:      p.output,
		Needs:       func(json.RawMessage) []caps.Request { return []caps.Request{caps.Need("invoke", p.path)} },
		Exclusive:   true, // its steps may touch anything
		Keyed:       true,
		Scopes:      [][]caps.Scope{{caps.ScopeExactly("invoke", p.path)}},
		Starts:      p.forecast,
		Authors:     authors,
		Run: func(ctx context.Context, call tools.Call, input json.RawMessage) (any, error) {
			decoded, err := decodeFor(ctx, call, input)
			if err != nil {
				return nil, fmt.Errorf("input: %w", err)
			}
			return jobs.Orchestrate(ctx, call, p.path, input, func(ctx context.Context, call tools.Call, past []Step, record func(context.Context, Step) error) (json.RawMessage, error) {
				n := len(p.steps)
				r := &run{plan: p, call: call, jobs: jobs, write: record, input: decoded, outputs: make([]any, n), records: make([]Step, n)}
				return r.whole(ctx, past)
			})
		},
	})
}
