// Package schema checks JSON against JSON Schemas that nobody vouches for:
// agents write them, and models fill them in.
//
// [Compile] takes a schema, draft 2020-12 unless it says otherwise, and
// [Schema.Validate] tells in plain words what does not fit, and where. A schema
// stands on its own: nothing is ever loaded, from a network or from a disk. Its
// size, its depth and the work that it may cause are bounded, so that a hostile
// one is an error and never a stall.
//
// Whoever asks says who pays for it: compiling, validating and coercing are
// charged as they go, and end with their context.
package schema

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"usher/caps/value"
)

// Limits of a schema document. Those of values are in value.go.
const (
	maxBytes    = 256 << 10 // of the document
	maxDepth    = 64        // of nesting in it
	maxParts    = 20_000    // schemas in it
	maxPatterns = 10 << 20  // bytes of its compiled patterns
)

// maxSteps bounds the work of one validation or coercion: references let a
// schema of a few lines ask for 2^100 checks.
const maxSteps = 1_000_000

// unit is how many checks are charged as one step.
const unit = 64

// Charge pays for work before it is done: steps of 64 checks each, and bytes of
// compiled patterns. Its error ends the work. A nil Charge pays nothing: it is
// for schemas and values of the program's own. The limits of this package hold in
// any case.
type Charge func(ctx context.Context, steps, patterns int64) error

// Schema is a compiled JSON Schema. It is immutable and safe for concurrent use.
type Schema struct {
	root *part
	text json.RawMessage
}

// Compile compiles a JSON Schema: an object, or true or false. Drafts 6 to
// 2020-12 are known by $schema; without it the draft is 2020-12. A $ref to
// anything outside the document is an error.
func Compile(ctx context.Context, doc json.RawMessage, charge Charge) (*Schema, error) {
	if len(doc) > maxBytes {
		return nil, fmt.Errorf("schema of %d bytes is larger than %d: make it smaller", len(doc), maxBytes)
	}
	v, err := value.Decode(doc, maxDepth)
	if err == nil {
		j := newJudge(ctx, charge)
		j.weigh(v)
		err = j.judge(metaPart(), v)
	}
	var root *part
	if err == nil {
		root, err = compile(ctx, v, charge)
	}
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	var text bytes.Buffer
	err = json.Compact(&text, doc)
	return &Schema{root, text.Bytes()}, err
}

// JSON returns the document as it was given, without white space. Nobody may
// change it.
func (s *Schema) JSON() json.RawMessage { return s.text }

// Validate returns nil when the value fits, an [*Error] that lists what does not,
// or an error that says why it cannot be judged: it is not JSON, a rule is about a
// number beyond the limits, or judging it would take too long.
func (s *Schema) Validate(ctx context.Context, raw json.RawMessage, charge Charge) error {
	v, err := value.Decode(raw, maxValueDepth)
	if err != nil {
		return err
	}
	return newJudge(ctx, charge).judge(s.root, v)
}
