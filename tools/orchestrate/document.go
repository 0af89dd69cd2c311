package orchestrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"usher/tools/form"
	"usher/tools/schema"
)

// Limits of a document.
const (
	maxBytes = 256 << 10
	maxSteps = 256
)

// Adapter is the value of operation.adapter that makes a document an
// orchestration.
const Adapter = "orchestrator"

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
	if b.Adapter != Adapter {
		return nil, fmt.Errorf("operation.adapter: is %q: write %q", b.Adapter, Adapter)
	}
	if len(b.Steps) == 0 {
		return nil, errors.New(`operation.steps: there are none: write at least one, for example [{"op":"covia:read","input":{"path":"w/notes"}}]`)
	}
	if len(b.Steps) > maxSteps {
		return nil, fmt.Errorf("operation.steps: there are %d, %d is the most: move some into an orchestration of their own", len(b.Steps), maxSteps)
	}
	p := &Plan{title: d.Name, description: d.Description}
	if err := p.schemas(ctx, b.Body, charge); err != nil {
		return nil, err
	}
	if err := p.readSteps(b.Steps); err != nil {
		return nil, err
	}
	return p, p.readResult(b.Result)
}
