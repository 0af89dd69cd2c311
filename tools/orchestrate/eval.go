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

func (c constant) eval(*run) (any, error) { return c.value, nil }

func (m mapping) eval(r *run) (any, error) {
	out := make(map[string]any, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		v, err := m[key].eval(r)
		if err != nil {
			return nil, value.Within("."+key, err)
		}
		out[key] = v
	}
	return out, nil
}

func (s reference) eval(r *run) (any, error) {
	v := r.input
	if s.step != fromInput {
		v = r.outputs[s.step]
	}
	for _, element := range s.path {
		next, ok := value.At(v, fmt.Sprint(element))
		if !ok {
			return nil, fmt.Errorf("%s is missing: there is no %s in %s", s, value.Show(element), s.source())
		}
		v = next
	}
	return v, r.take(v)
}

func (s reference) String() string {
	head := any("input")
	if s.step != fromInput {
		head = s.step
	}
	return value.Show(append([]any{head}, s.path...))
}

func (s reference) source() string {
	if s.step == fromInput {
		return "the input"
	}
	return fmt.Sprintf("what step %d returned", s.step)
}

func (c concat) eval(r *run) (any, error) {
	parts := make([]any, len(c.parts))
	arrays := 0
	for i, part := range c.parts {
		v, err := part.eval(r)
		if err != nil {
			return nil, value.Within(fmt.Sprintf("[%d]", i+1), err)
		}
		if _, ok := v.([]any); ok {
			arrays++
		}
		parts[i] = v
	}
	if arrays == len(parts) {
		var joined []any
		for _, part := range parts {
			joined = append(joined, part.([]any)...)
		}
		if joined == nil {
			joined = []any{}
		}
		return joined, nil
	}
	var b strings.Builder
	for i, part := range parts {
		switch part := part.(type) {
		case string:
			b.WriteString(part)
		case json.Number:
			b.WriteString(part.String())
		case bool:
			b.WriteString(strconv.FormatBool(part))
		default:
			return nil, value.Within(fmt.Sprintf("[%d]", i+1), fmt.Errorf(`is %s: "concat" joins texts, numbers and booleans, or arrays alone`, value.A(part)))
		}
	}
	return b.String(), nil
}

// take charges a value to what is being put together.
func (r *run) take(v any) error {
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
	if r.left -= 2; r.left < 0 {
		return errTooLarge
	}
	return nil
}

// build evaluates a spec to JSON.
func (r *run) build(s spec) (json.RawMessage, error) {
	r.left = maxInput
	v, err := s.eval(r)
	if err != nil {
		return nil, err
	}
	return value.Encode(v)
}

// decodeFor is [decode] of a value that a run keeps, which takes a multiple of its
// text in memory: the call is charged for all of it, before.
func decodeFor(ctx context.Context, call tools.Call, raw json.RawMessage) (any, error) {
	if err := call.Charge(ctx, tools.Bytes, value.Weight(raw)); err != nil {
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
