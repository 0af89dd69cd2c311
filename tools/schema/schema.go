package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Limits of a schema document. Those of values are in value.go.
const (
	MaxBytes = 256 << 10 // of the document
	MaxDepth = 64        // of nesting in it
)

// Schema is a compiled JSON Schema. It is immutable and safe for concurrent use.
type Schema struct {
	root *jsonschema.Schema
	text json.RawMessage
}

// base is the address of a document without $id. It can never be fetched.
const base = "schema:///document"

// Compile compiles a JSON Schema: an object, or true or false. Drafts 4 to
// 2020-12 are known by $schema; without it the draft is 2020-12. A $ref to
// anything outside the document is an error.
func Compile(doc json.RawMessage) (*Schema, error) {
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
	root, err := compile(value)
	if err != nil {
		return nil, err
	}
	if err := refuseDynamic(root); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := json.Compact(&text, doc); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return &Schema{root, text.Bytes()}, nil
}

// JSON returns the document as it was given, without white space.
func (s *Schema) JSON() json.RawMessage { return slices.Clone(s.text) }

// Validate returns nil when value fits, an [*Error] that lists what does not,
// or an error that says why value cannot be judged: it is not JSON, it is
// beyond the limits, or judging it would take too long.
func (s *Schema) Validate(value json.RawMessage) error {
	v, err := decode(value, maxValueDepth)
	if err != nil {
		return err
	}
	return s.validate(v)
}

// Affordable returns nil when value can be judged within the limits. It judges
// nothing, and tells nothing of the schema: for those who judge by other means.
func (s *Schema) Affordable(value json.RawMessage) error {
	v, err := decode(value, maxValueDepth)
	if err != nil {
		return err
	}
	return affordable(s.root, v)
}

func (s *Schema) validate(v any) error {
	if err := affordable(s.root, v); err != nil {
		return err
	}
	err := s.root.Validate(v)
	if err == nil {
		return nil
	}
	var found *jsonschema.ValidationError
	if !errors.As(err, &found) {
		return err
	}
	return explain(found, v)
}

func compile(value any) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(closed{})
	c.UseRegexpEngine(boundedRegexp)
	if err := c.AddResource(base, value); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	root, err := c.Compile(base)
	if err == nil {
		return root, nil
	}
	var invalid *jsonschema.SchemaValidationError
	var found *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &found) {
		return nil, fmt.Errorf("schema: %w", explain(found, value))
	}
	var outside *jsonschema.LoadURLError
	if errors.As(err, &outside) {
		return nil, fmt.Errorf("schema refers to %q, which is not part of it: copy what it needs below $defs and write #/$defs/<name>",
			strings.TrimPrefix(outside.URL, "schema:///"))
	}
	return nil, fmt.Errorf("schema: %w", err)
}

// closed loads nothing: every other document is out of reach.
type closed struct{}

var _ jsonschema.URLLoader = closed{}

func (closed) Load(string) (any, error) { return nil, errors.New("schemas are not loaded") }
