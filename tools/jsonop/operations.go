// Package jsonop works on JSON values: json:merge, json:cond, json:assoc and
// json:select. Orchestrations and agents use them to put inputs together
// without asking a model.
//
// [Operations] makes them. They are pure: they need the ability invoke and no
// resource, and numbers keep the text that they came with.
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
		pure("json:merge", "Merge objects from left to right: later fields win, objects merge inside, null deletes a field (RFC 7396).", runMerge),
		pure("json:cond", "Return then of the first case whose when is neither null nor false, else default.", runCond),
		pure("json:assoc", "Return the target with the value set at a path; objects on the way are created.", runAssoc),
		pure("json:select", "Return the case that the key names, else default.", runSelect),
	}
}

// pure makes an operation that touches no resource.
func pure[In any](name, description string, run func(In) (any, error)) *tools.Operation {
	needs := func(In) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} }
	return tools.New(name, description, needs, func(_ context.Context, _ tools.Call, in In) (result, error) {
		v, err := run(in)
		if raw, ok := v.(json.RawMessage); ok || err != nil {
			return result{raw}, err
		}
		return result{value.Append(nil, v)}, nil
	}, tools.ReadOnly())
}

type result struct {
	Result json.RawMessage `json:"result"`
}

type mergeInput struct {
	Values []json.RawMessage `json:"values" jsonschema:"the objects, the one that wins last"`
}

func runMerge(in mergeInput) (any, error) {
	merged := any(map[string]any{})
	for i, raw := range in.Values {
		v, err := decode(raw)
		if err != nil {
			return nil, err
		}
		if _, ok := v.(map[string]any); !ok {
			return nil, fmt.Errorf("values[%d] is %s: merge takes objects", i, value.A(v))
		}
		merged = patch(merged, v)
	}
	return merged, nil
}

type condInput struct {
	Cases   []condCase      `json:"cases" jsonschema:"the cases, the first that holds is taken"`
	Default json.RawMessage `json:"default,omitempty" jsonschema:"the result when no case holds; null when left out"`
}

type condCase struct {
	When json.RawMessage `json:"when" jsonschema:"holds unless it is null or false"`
	Then json.RawMessage `json:"then" jsonschema:"the result"`
}

func runCond(in condInput) (any, error) {
	for _, c := range in.Cases {
		switch string(c.When) {
		case "", "null", "false": // 0 and "" are values like others
		default:
			return c.Then, nil
		}
	}
	return in.Default, nil
}

type assocInput struct {
	Target json.RawMessage `json:"target,omitempty" jsonschema:"the object; an empty one when left out"`
	Path   json.RawMessage `json:"path" jsonschema:"where to set the value: a/b/0, or an array of keys and indexes"`
	Value  json.RawMessage `json:"value,omitempty" jsonschema:"the value; null when left out"`
}

func runAssoc(in assocInput) (any, error) {
	target, err := decode(in.Target)
	if err != nil {
		return nil, err
	}
	if _, object := target.(map[string]any); !object && target != nil {
		return nil, fmt.Errorf("target is %s: give an object", value.A(target))
	}
	path, err := parsePath(in.Path)
	if err != nil {
		return nil, err
	}
	v, err := decode(in.Value)
	if err != nil {
		return nil, err
	}
	return assoc(target, path, 0, v)
}

type selectInput struct {
	Key     string                     `json:"key" jsonschema:"the name of a case"`
	Cases   map[string]json.RawMessage `json:"cases" jsonschema:"the results by name"`
	Default json.RawMessage            `json:"default,omitempty" jsonschema:"the result when there is no such case; null when left out"`
}

func runSelect(in selectInput) (any, error) {
	if v, ok := in.Cases[in.Key]; ok {
		return v, nil
	}
	return in.Default, nil
}
