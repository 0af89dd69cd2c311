package jsonop

import (
	"context"
	"encoding/json"
	"fmt"

	"usher/caps"
	"usher/caps/value"
	"usher/tools"
)

// Operations returns json:merge, json:cond, json:assoc and json:select.
func Operations() []*tools.Operation {
	return []*tools.Operation{
		tools.New("json:merge",
			"Merge objects from left to right: later fields win, objects merge inside, null deletes a field (RFC 7396).",
			invoke[mergeInput], runMerge, tools.ReadOnly()),
		tools.New("json:cond",
			"Return then of the first case whose when is neither null nor false, else default.",
			invoke[condInput], runCond, tools.ReadOnly()),
		tools.New("json:assoc",
			"Return the target with the value set at a path; objects on the way are created.",
			invoke[assocInput], runAssoc, tools.ReadOnly()),
		tools.New("json:select",
			"Return the case that the key names, else default.",
			invoke[selectInput], runSelect, tools.ReadOnly()),
	}
}

func invoke[In any](In) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} }

type result struct {
	Result json.RawMessage `json:"result"`
}

type mergeInput struct {
	Values []json.RawMessage `json:"values" jsonschema:"the objects, the one that wins last"`
}

func runMerge(_ context.Context, _ tools.Call, in mergeInput) (result, error) {
	merged := any(map[string]any{})
	for i, raw := range in.Values {
		v, err := decode(raw)
		if err != nil {
			return result{}, err
		}
		if _, ok := v.(map[string]any); !ok {
			return result{}, fmt.Errorf("values[%d] is %s: merge takes objects", i, value.A(v))
		}
		merged = patch(merged, v)
	}
	return result{value.Append(nil, merged)}, nil
}

type condInput struct {
	Cases   []condCase      `json:"cases" jsonschema:"the cases, the first that holds is taken"`
	Default json.RawMessage `json:"default,omitempty" jsonschema:"the result when no case holds; null when left out"`
}

type condCase struct {
	When json.RawMessage `json:"when" jsonschema:"holds unless it is null or false"`
	Then json.RawMessage `json:"then" jsonschema:"the result"`
}

func runCond(_ context.Context, _ tools.Call, in condInput) (result, error) {
	for _, c := range in.Cases {
		if truthy(c.When) {
			return result{c.Then}, nil
		}
	}
	return result{in.Default}, nil
}

// truthy is everything but null and false: 0 and "" are values like others.
func truthy(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "false":
		return false
	}
	return true
}

type assocInput struct {
	Target json.RawMessage `json:"target,omitempty" jsonschema:"the object; an empty one when left out"`
	Path   json.RawMessage `json:"path" jsonschema:"where to set the value: a/b/0, or an array of keys and indexes"`
	Value  json.RawMessage `json:"value,omitempty" jsonschema:"the value; null when left out"`
}

func runAssoc(_ context.Context, _ tools.Call, in assocInput) (result, error) {
	target, err := decode(in.Target)
	if err != nil {
		return result{}, err
	}
	switch target.(type) {
	case nil, map[string]any:
	default:
		return result{}, fmt.Errorf("target is %s: give an object", value.A(target))
	}
	path, err := parsePath(in.Path)
	if err != nil {
		return result{}, err
	}
	v, err := decode(in.Value)
	if err != nil {
		return result{}, err
	}
	set, err := assoc(target, path, 0, v)
	if err != nil {
		return result{}, err
	}
	return result{value.Append(nil, set)}, nil
}

type selectInput struct {
	Key     string                     `json:"key" jsonschema:"the name of a case"`
	Cases   map[string]json.RawMessage `json:"cases" jsonschema:"the results by name"`
	Default json.RawMessage            `json:"default,omitempty" jsonschema:"the result when there is no such case; null when left out"`
}

func runSelect(_ context.Context, _ tools.Call, in selectInput) (result, error) {
	if v, ok := in.Cases[in.Key]; ok {
		return result{v}, nil
	}
	return result{in.Default}, nil
}
