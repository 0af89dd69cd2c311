package schema

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
)

// Limits of a schema document. Those of values are in value.go.
const (
	MaxBytes    = 256 << 10 // of the document
	MaxDepth    = 64        // of nesting in it
	MaxParts    = 20_000    // schemas in it
	MaxPatterns = 10 << 20  // bytes of its compiled patterns
)

// maxSteps bounds the work of one validation or coercion: references let a
// schema of a few lines ask for 2^100 checks.
const maxSteps = 1_000_000

// unit is how many checks are charged as one step.
const unit = 64

// Charge pays for work before it is done: steps of 64 checks each, and bytes of
// compiled patterns. Its error ends the work. A nil Charge pays nothing, and the
// limits of this package hold in any case.
type Charge func(ctx context.Context, steps, patterns int64) error

// Schema is a compiled JSON Schema. It is immutable and safe for concurrent use.
type Schema struct {
	root *part
	text json.RawMessage
}

// Compile compiles a JSON Schema: an object, or true or false. Drafts 4 to
// 2020-12 are known by $schema; without it the draft is 2020-12. A $ref to
// anything outside the document is an error.
func Compile(doc json.RawMessage) (*Schema, error) {
	return CompileFor(context.Background(), doc, nil)
}

// CompileFor is [Compile] that is charged for, and that ends with ctx.
func CompileFor(ctx context.Context, doc json.RawMessage, charge Charge) (*Schema, error) {
	if len(doc) > MaxBytes {
		return nil, fmt.Errorf("schema of %d bytes is larger than %d: make it smaller", len(doc), MaxBytes)
	}
	value, err := decode(doc, MaxDepth)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	switch value.(type) {
	case map[string]any, bool:
	default:
		return nil, fmt.Errorf(`schema is %s: write a JSON Schema object, for example {"type":"string"}`, article(value))
	}
	root, err := compile(ctx, value, charge)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := json.Compact(&text, doc); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return &Schema{root, text.Bytes()}, nil
}

// JSON returns the document as it was given, without white space. Nobody may
// change it.
func (s *Schema) JSON() json.RawMessage { return s.text }

// Validate returns nil when value fits, an [*Error] that lists what does not,
// or an error that says why value cannot be judged: it is not JSON, it is
// beyond the limits, or judging it would take too long.
func (s *Schema) Validate(value json.RawMessage) error {
	return s.ValidateFor(context.Background(), value, nil)
}

// ValidateFor is [Schema.Validate] that is charged for, and that ends with ctx.
func (s *Schema) ValidateFor(ctx context.Context, value json.RawMessage, charge Charge) error {
	v, err := decode(value, maxValueDepth)
	if err != nil {
		return err
	}
	return newJudge(ctx, charge).judge(s.root, v)
}

// ValidateInput is [Schema.ValidateFor] for a value of any depth and with any
// numbers, as long as no rule of the schema is about those beyond the limits.
func (s *Schema) ValidateInput(ctx context.Context, value json.RawMessage, charge Charge) error {
	v, err := parse(value)
	if err != nil {
		return err
	}
	return newJudge(ctx, charge).judge(s.root, v)
}
