package orchestrate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"usher/caps/value"
	"usher/tools"
)

// maxInput bounds what one step or the result is put together to, in bytes: a
// short document can ask for the same large value thousands of times.
const maxInput = 4 << 20

var errTooLarge = fmt.Errorf("it grows above %d bytes: pass on less", maxInput)

// eval returns the value of a spec that a reader took.
func (r *run) eval(spec any) (any, error) {
	switch spec := spec.(type) {
	case map[string]any:
		out := make(map[string]any, len(spec))
		for _, key := range slices.Sorted(maps.Keys(spec)) {
			v, err := r.eval(spec[key])
			if err != nil && !r.ahead {
				return nil, value.Within("."+key, err)
			}
			out[key] = v
		}
		return out, nil
	case []any:
		switch spec[0] {
		case "const":
			return spec[1], nil
		case "concat":
			return r.concat(spec[1:])
		}
		return r.refer(spec)
	}
	return spec, nil
}

// refer follows a path in the input, or in what a step returned.
func (r *run) refer(spec []any) (any, error) {
	v, source := r.input, "the input"
	if n, ok := spec[0].(json.Number); ok {
		step, _ := strconv.Atoi(n.String())
		v, source = r.outputs[step], fmt.Sprintf("what step %d returned", step)
		if _, gone := v.(lossMark); gone {
			return nil, fmt.Errorf("%s was too large to be kept when the venue stopped: start the orchestration anew", source)
		}
	}
	for _, element := range spec[1:] {
		next, ok := value.At(v, fmt.Sprint(element))
		if !ok {
			return nil, fmt.Errorf("%s is missing: there is no %s in %s", value.Show(spec), value.Show(element), source)
		}
		v = next
	}
	return v, r.take(v)
}

// concat joins texts, or arrays.
func (r *run) concat(specs []any) (any, error) {
	var text strings.Builder
	var odd error // the first part that is no text
	list, lists := []any{}, 0
	for i, spec := range specs {
		at := fmt.Sprintf("[%d]", i+1)
		part, err := r.eval(spec)
		if err != nil {
			return nil, value.Within(at, err)
		}
		switch part := part.(type) {
		case string:
			text.WriteString(part)
			continue
		case json.Number, bool:
			fmt.Fprint(&text, part)
			continue
		case []any:
			list, lists = append(list, part...), lists+1
		}
		if odd == nil {
			odd = value.Within(at, fmt.Errorf(`is %s: "concat" joins texts, numbers and booleans, or arrays alone`, value.A(part)))
		}
	}
	switch {
	case lists == len(specs):
		return list, nil
	case odd != nil:
		return nil, odd
	}
	return text.String(), nil
}

// take charges a value to what is being put together.
func (r *run) take(v any) error {
	r.left -= 2
	switch v := v.(type) {
	case string:
		r.left -= len(v)
	case json.Number:
		r.left -= len(v)
	case []any:
		for _, item := range v {
			if err := r.take(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, item := range v {
			r.left -= len(key)
			if err := r.take(item); err != nil {
				return err
			}
		}
	}
	if r.left < 0 {
		return errTooLarge
	}
	return nil
}

// build evaluates a spec to JSON.
func (r *run) build(spec any) (json.RawMessage, error) {
	r.left = maxInput
	v, err := r.eval(spec)
	if err != nil {
		return nil, err
	}
	return value.Encode(v)
}

// forecast returns what a run on the input would start. Of the inputs of steps
// it has what does not come of other steps, and null in the place of the rest. It
// returns nil where that is more than one step may be given: looking ahead must not
// cost more than the run.
func (p *Plan) forecast(input json.RawMessage) []tools.Invocation {
	whole, err := decode(input)
	if err != nil {
		return nil
	}
	// Without outputs a reference to a step finds nothing.
	r := &run{plan: p, input: whole, outputs: make([]any, len(p.steps)), left: maxInput, ahead: true}
	out := make([]tools.Invocation, len(p.steps))
	for i, s := range p.steps {
		given, _ := r.eval(s.input) // what fails here fails in the run, too, before the step starts
		if r.left < 0 {
			return nil
		}
		out[i] = tools.Invocation{Operation: s.op, Input: value.Append(nil, given)}
	}
	return out
}

// decodeFor is [decode] of a value that a run keeps, which takes a multiple of its
// text in memory: the call is charged for all of it, before.
func decodeFor(ctx context.Context, call tools.Call, raw json.RawMessage) (any, error) {
	if err := call.Meter().Charge(ctx, tools.Bytes, value.Weight(raw)); err != nil {
		return nil, err
	}
	return decode(raw)
}

// decode reads one JSON value; numbers keep their text.
func decode(raw json.RawMessage) (any, error) {
	v, err := value.Decode(raw, value.MaxDepth)
	if err != nil {
		return nil, fmt.Errorf("it is no value: %w", err)
	}
	return v, nil
}
