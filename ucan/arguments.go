package ucan

import (
	"encoding/json"
	"maps"
	"strconv"

	"usher/caps/value"
)

// maxInputWeight bounds the memory that the input of a call takes once it is decoded.
const maxInputWeight = 64 << 20

// inputValue is the input of the query; nil where it cannot be read.
func (s *search) inputValue() any {
	if s.input == nil && len(s.query.Input) > 0 && value.Weight(s.query.Input) <= maxInputWeight {
		s.input, _ = value.Decode(s.query.Input, value.MaxDepth)
	}
	return s.input
}

// policyArgs are the arguments of the call, of which "with" is always the resource
// that is decided on.
func (s *search) policyArgs() map[string]any {
	if s.args == nil {
		s.args = map[string]any{}
		if maps.Copy(s.args, s.query.Args); s.query.Args == nil {
			if input, ok := s.inputValue().(map[string]any); ok {
				s.args = argument(input).(map[string]any)
			}
		}
		s.args["with"] = absolute(s.need.owner, s.need.path)
	}
	return s.args
}

// ambiguous stands where the input has several values, or one that a policy cannot
// compare: it equals nothing, not even null, and nothing leads through it.
type ambiguous struct{ _ byte }

// argument returns a value of JSON in the types of a policy. Keys that differ by case
// alone are ambiguous, since an operation may read either.
func argument(v any) any {
	switch v := v.(type) {
	case json.Number:
		return numberArgument(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = argument(v[i])
		}
		return out
	case map[string]any:
		out, folded := make(map[string]any, len(v)), make(map[string]int, len(v))
		for key := range v {
			folded[value.Fold(key)]++
		}
		for key, item := range v {
			if out[key] = argument(item); folded[value.Fold(key)] > 1 {
				out[key] = ambiguous{}
			}
		}
		return out
	}
	return v
}

// numberArgument is exact: what is neither an int64 nor the shortest spelling of a
// float64 cannot be compared.
func numberArgument(n json.Number) any {
	if i, err := n.Int64(); err == nil {
		return i
	}
	f, err := n.Float64()
	if c, ok := value.Compare(n, json.Number(strconv.FormatFloat(f, 'g', -1, 64))); err != nil || !ok || c != 0 {
		return ambiguous{}
	}
	if i := int64(f); float64(i) == f && value.IsInteger(n) && f > -1<<53 && f < 1<<53 {
		return i
	}
	return f
}
