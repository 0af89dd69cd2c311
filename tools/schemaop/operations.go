package schemaop

import (
	"context"
	"encoding/json"
	"errors"

	"usher/caps"
	"usher/tools"
	"usher/tools/schema"
)

// Operations returns all five. They touch no resource: the ability invoke is all
// that they need.
func Operations() []*tools.Operation {
	return []*tools.Operation{
		pure("schema:validate", "Check a value against a JSON Schema. Returns valid, and in error what does not fit and where.", validate),
		pure("schema:validateAll", "Check a value against a JSON Schema. Returns valid, and in errors everything that does not fit.", validateAll),
		pure("schema:infer", "Derive a JSON Schema that a value fits.", infer),
		pure("schema:coerce", "Bring a value into the form that a JSON Schema asks for: strings to numbers or booleans, numbers to strings, single values to arrays, defaults filled in. Fails when it cannot fit.", coerce),
		pure("schema:check", "Check whether a document is a usable JSON Schema.", check),
	}
}

func pure[In, Out any](name, description string, run func(context.Context, tools.Call, In) (Out, error)) *tools.Operation {
	needs := func(In) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} }
	return tools.New(name, description, needs, run, tools.ReadOnly())
}

type against struct {
	Schema json.RawMessage `json:"schema" jsonschema:"the JSON Schema, draft 2020-12 unless $schema says otherwise"`
	Value  json.RawMessage `json:"value,omitempty" jsonschema:"the value; left out it is null"`
}

func (in against) value() json.RawMessage {
	if len(in.Value) == 0 {
		return json.RawMessage("null")
	}
	return in.Value
}

type inferInput struct {
	Value json.RawMessage `json:"value,omitempty" jsonschema:"the value; left out it is null"`
}

type checkInput struct {
	Schema json.RawMessage `json:"schema" jsonschema:"the JSON Schema"`
}

type verdict struct {
	Valid bool   `json:"valid"`
	Error string `json:"error,omitempty"`
}

type verdicts struct {
	Valid  bool     `json:"valid"`
	Errors []string `json:"errors"`
}

type inferResult struct {
	Schema json.RawMessage `json:"schema"`
}

type coerceResult struct {
	Value json.RawMessage `json:"value"`
}

func validate(ctx context.Context, call tools.Call, in against) (verdict, error) {
	misfit, err := judge(ctx, call, in)
	if misfit != nil {
		return verdict{Error: misfit.Error()}, nil
	}
	return verdict{Valid: err == nil}, err
}

// judge tells a value that does not fit from a schema or a value that cannot be
// judged, which is an error.
func judge(ctx context.Context, call tools.Call, in against) (misfit *schema.Error, err error) {
	s, err := schema.Compile(ctx, in.Schema, call.Meter().ChargeSchema)
	if err != nil {
		return nil, err
	}
	if err = s.Validate(ctx, in.value(), call.Meter().ChargeSchema); errors.As(err, &misfit) {
		err = nil
	}
	return misfit, err
}

func validateAll(ctx context.Context, call tools.Call, in against) (verdicts, error) {
	misfit, err := judge(ctx, call, in)
	if err != nil || misfit == nil {
		return verdicts{Valid: err == nil, Errors: []string{}}, err
	}
	var out verdicts
	for _, v := range misfit.Violations {
		out.Errors = append(out.Errors, v.String())
	}
	return out, nil
}

func infer(ctx context.Context, call tools.Call, in inferInput) (inferResult, error) {
	doc, err := schema.Infer(ctx, against{Value: in.Value}.value(), call.Meter().ChargeSchema)
	return inferResult{doc}, err
}

func coerce(ctx context.Context, call tools.Call, in against) (coerceResult, error) {
	s, err := schema.Compile(ctx, in.Schema, call.Meter().ChargeSchema)
	if err != nil {
		return coerceResult{}, err
	}
	value, err := s.Coerce(ctx, in.Value, call.Meter().ChargeSchema)
	return coerceResult{value}, err
}

func check(ctx context.Context, call tools.Call, in checkInput) (verdict, error) {
	_, err := schema.Compile(ctx, in.Schema, call.Meter().ChargeSchema)
	var limit *tools.LimitError
	if errors.As(err, &limit) || ctx.Err() != nil {
		return verdict{}, err
	}
	if err != nil {
		return verdict{Error: err.Error()}, nil //nolint:nilerr // that the schema is bad is the answer
	}
	return verdict{Valid: true}, nil
}
