package orchestrate

import (
	"context"
	"encoding/json"
	"fmt"

	"usher/tools"
	"usher/tools/schema"
)

// work runs one step through the gate. It changes nothing of the run.
func (r *run) work(ctx context.Context, s *step, input json.RawMessage) (o outcome) {
	o.step = s.number
	defer func() {
		if v := recover(); v != nil {
			o.err = &tools.PanicError{Operation: s.op, Value: v}
		}
	}()
	var want *schema.Schema
	if s.strict {
		if want, o.err = r.outputSchema(ctx, s.op); o.err != nil {
			return o
		}
	}
	result, err := r.call.Invoke(ctx, s.op, input)
	if err != nil {
		o.err = err
		return o
	}
	o.output = result.Output
	if len(o.output) == 0 {
		o.output = json.RawMessage("null")
	}
	if want != nil {
		if err := want.Validate(o.output); err != nil {
			o.err = fmt.Errorf("the output of %s does not fit its own schema: %w", result.Operation, err)
			return o
		}
	}
	if o.value, err = decode(o.output); err != nil {
		o.err = fmt.Errorf("the output of %s: %w", result.Operation, err)
	}
	return o
}

// outputSchema is asked for before the step runs, so that a step that cannot
// be checked has no effect.
func (r *run) outputSchema(ctx context.Context, reference string) (*schema.Schema, error) {
	op, err := r.call.Resolve(ctx, reference)
	if err != nil {
		return nil, err
	}
	if len(op.OutputSchema()) == 0 {
		return nil, fmt.Errorf(`strict: %s declares no output schema: leave "strict" out`, op.Path())
	}
	s, err := schema.Compile(op.OutputSchema())
	if err != nil {
		return nil, fmt.Errorf("strict: the output schema of %s: %w", op.Path(), err)
	}
	return s, nil
}
