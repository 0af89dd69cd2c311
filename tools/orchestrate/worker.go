package orchestrate

import (
	"context"
	"encoding/json"
	"fmt"

	"usher/tools"
)

// work runs one step through the gate. It changes nothing of the run.
func (r *run) work(ctx context.Context, s *step, input json.RawMessage) (o outcome) {
	o.step = s
	defer func() {
		if v := recover(); v != nil {
			o.err = &tools.PanicError{Operation: s.op, Value: v}
		}
	}()
	var strict *tools.Operation
	if s.strict {
		if strict, o.err = r.strict(ctx, s.op); o.err != nil {
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
	if strict != nil {
		if err := strict.FitsOutput(ctx, o.output, r.call.Authority().Meter()); err != nil {
			o.err = fmt.Errorf("the output of %s does not fit its own schema: %w", result.Operation, err)
			return o
		}
	}
	if o.value, err = decodeFor(ctx, r.call, o.output); err != nil {
		o.err = fmt.Errorf("the output of %s: %w", result.Operation, err)
	}
	return o
}

// strict is the operation of a step whose output has to fit its schema. It is
// asked for before the step runs, so that a step that cannot be checked has no
// effect.
func (r *run) strict(ctx context.Context, reference string) (*tools.Operation, error) {
	op, err := r.call.Resolve(ctx, reference)
	if err == nil && len(op.OutputSchema()) == 0 {
		err = fmt.Errorf(`strict: %s declares no output schema: leave "strict" out`, op.Path())
	}
	return op, err
}
