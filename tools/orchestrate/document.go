package orchestrate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"usher/caps/value"
	"usher/tools/form"
	"usher/tools/schema"
)

// Limits of a document.
const (
	maxBytes = 256 << 10
	maxSteps = 256
)

// adapter is the value of operation.adapter that makes a document an
// orchestration.
const adapter = "orchestrator"

type document struct {
	_           struct{}  `noun:"an orchestration" required:"operation"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Type        string    `json:"type" enum:"orchestration" want:"\"orchestration\""`
	Operation   operation `json:"operation" form:"operation" example:"{'adapter': 'orchestrator', 'steps': […]}"`
}

type operation struct {
	Adapter string `json:"adapter" example:"orchestrator"`
	Body
}

// Body is what an orchestration does.
type Body struct {
	Input  json.RawMessage `json:"input,omitempty" jsonschema:"JSON Schema of its input."`
	Output json.RawMessage `json:"output,omitempty" jsonschema:"JSON Schema of its result."`
	Steps  []stepForm      `json:"steps" example:"[{'op': 'covia:read', 'input': {'path': ['input', 'path']}}]"`
	Result json.RawMessage `json:"result,omitempty" jsonschema:"Made like a step's input. Default: the result of the last step."`
}

// stepForm is a step as it is written; what it means is known when it is compiled.
type stepForm struct {
	_      struct{}        `noun:"a step" required:"op" example:"{'op': 'covia:read', 'input': {'path': ['input', 'path']}}"`
	Name   string          `json:"name,omitempty" example:"scan"`
	Op     string          `json:"op" example:"covia:read" jsonschema:"Operation to run, for example agent:request."`
	Input  json.RawMessage `json:"input,omitempty" jsonschema:"[input, path…] is from the input, [0, path…] from step 0, [const, v] is v, [concat, …] joins; scalars are themselves."`
	Strict bool            `json:"strict,omitempty" example:"true" jsonschema:"Check the result against the operation's output schema. Default: false."`
	After  []int           `json:"after,omitempty" noun:"an entry of after" each:"the number of an earlier step, the first is 0" min:"0" example:"[0]" jsonschema:"Steps to wait for beside those whose results are used."`
}

func parse(ctx context.Context, doc json.RawMessage, charge schema.Charge) (*Plan, error) {
	if len(doc) > maxBytes {
		return nil, fmt.Errorf("it has %d bytes, %d is the most: split it into several", len(doc), maxBytes)
	}
	var d document
	if err := form.Unmarshal(doc, &d); err != nil {
		return nil, err
	}
	b := d.Operation
	if b.Adapter != adapter {
		return nil, fmt.Errorf("operation.adapter: is %q: write %q", b.Adapter, adapter)
	}
	if len(b.Steps) == 0 {
		return nil, errors.New(`operation.steps: there are none: write at least one, for example [{"op":"covia:read","input":{"path":"w/notes"}}]`)
	}
	if len(b.Steps) > maxSteps {
		return nil, fmt.Errorf("operation.steps: there are %d, %d is the most: move some into an orchestration of their own", len(b.Steps), maxSteps)
	}
	p := &Plan{description: cmp.Or(d.Description, d.Name)}
	if err := p.readSchemas(ctx, b.Body, charge); err != nil {
		return nil, err
	}
	if err := p.readSteps(b.Steps); err != nil {
		return nil, err
	}
	n := len(b.Steps)
	if len(b.Result) == 0 {
		p.result = []any{json.Number(strconv.Itoa(n - 1))}
		return p, nil
	}
	var err error
	p.result, err = (&reader{step: n, steps: n, needs: make(map[int]bool)}).decode(b.Result, "operation.result")
	return p, err
}

// readSchemas compiles the schemas of the operation, where given.
func (p *Plan) readSchemas(ctx context.Context, b Body, charge schema.Charge) (err error) {
	if len(b.Input) > 0 {
		if p.input, err = schema.Compile(ctx, b.Input, charge); err != nil {
			return fmt.Errorf("operation.input: %w", err)
		}
		var head struct{ Type any }
		if json.Unmarshal(b.Input, &head) == nil && head.Type != nil && head.Type != "object" {
			return fmt.Errorf(`operation.input: its type is %s: an operation takes an object: write "type":"object"`, value.Show(head.Type))
		}
	}
	if len(b.Output) > 0 {
		if p.output, err = schema.Compile(ctx, b.Output, charge); err != nil {
			return fmt.Errorf("operation.output: %w", err)
		}
	}
	return nil
}

func (p *Plan) readSteps(list []stepForm) error {
	named := make(map[string]int)
	for n, d := range list {
		at := fmt.Sprintf("operation.steps[%d]", n)
		if other, taken := named[d.Name]; taken && d.Name != "" {
			return fmt.Errorf("%s.name: step %d is called %q already: choose another name", at, other, d.Name)
		}
		named[d.Name] = n
		r := reader{step: n, steps: len(list), needs: make(map[int]bool)}
		input, err := r.input(d.Input, at+".input")
		if err != nil {
			return err
		}
		for i, before := range d.After {
			if err := r.earlier(before, fmt.Sprintf("%s.after[%d]", at, i)); err != nil {
				return err
			}
			r.needs[before] = true
		}
		p.steps = append(p.steps, &step{n, d.Name, d.Op, input, d.Strict, slices.Sorted(maps.Keys(r.needs))})
	}
	return nil
}
