package orchestrate

import (
	"encoding/json"

	"usher/caps/value"
	"usher/tools"
)

// foretold returns what a run on the input would start. Of the inputs of steps
// it has what does not come of other steps, and null in the place of the rest. It
// returns nil where that is more than one step may be given: looking ahead must not
// cost more than the run.
func (p *Plan) foretold(input json.RawMessage) []tools.Invocation {
	whole, err := decode(input)
	if err != nil {
		return nil
	}
	r := &run{plan: p, input: whole, outputs: make([]any, len(p.steps))}
	out := make([]tools.Invocation, len(p.steps))
	r.left = maxInput
	for i := range p.steps {
		s := &p.steps[i]
		// What fails here fails in the run, too, before the step starts.
		given := value.Append(nil, known(r, s.input))
		if r.left < 0 {
			return nil
		}
		out[i] = tools.Invocation{Operation: s.op, Input: given}
	}
	return out
}

// known evaluates what it can of a spec.
func known(r *run, s spec) any {
	if m, ok := s.(mapping); ok {
		out := make(map[string]any, len(m))
		for key, part := range m {
			out[key] = known(r, part)
		}
		return out
	}
	v, err := s.eval(r) // without outputs a reference to a step finds nothing
	if err != nil {
		return nil
	}
	return v
}
