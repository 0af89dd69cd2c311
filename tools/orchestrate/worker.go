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
	defer recoverPanic(s.op, &o.err)
	var strict *tools.Operation
	if s.strict { // asked for before, so that a step that cannot be checked has no effect
		if strict, o.err = r.call.Resolve(ctx, s.op); o.err != nil {
			return o
		}
		if len(strict.OutputSchema()) == 0 {
			o.err = fmt.Errorf(`strict: %s declares no output schema: leave "strict" out`, strict.Path())
			return o
		}
	}
	result, err := r.call.InvokeAt(ctx, s.at(), s.op, input)
	if o.err = err; err != nil {
		return o
	}
	if o.output = result.Output; len(o.output) == 0 {
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
