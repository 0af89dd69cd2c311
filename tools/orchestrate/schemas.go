package orchestrate

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"usher/caps"
	"usher/tools/schema"
)

// schemas takes the schemas of the operation, where given.
func (p *Plan) schemas(b Body) (err error) {
	if p.input, err = readSchema(b.Input, "operation.input"); err != nil {
		return err
	}
	if p.output, err = readSchema(b.Output, "operation.output"); err != nil {
		return err
	}
	if p.input == nil {
		return nil
	}
	var head struct{ Type any }
	if json.Unmarshal(p.input.JSON(), &head) == nil && head.Type != nil && head.Type != "object" {
		return fmt.Errorf(`operation.input: its type is %s: an operation takes an object: write "type":"object"`, compact(head.Type))
	}
	return nil
}

// readSchema compiles a schema with the validator for hostile schemas and with
// the one that the gate uses.
func readSchema(raw json.RawMessage, at string) (*schema.Schema, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	s, err := schema.Compile(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	v, err := decode(raw)
	if err == nil {
		err = oneDialect(v)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	g, err := gateSchema(s)
	if err == nil {
		_, err = g.Resolve(nil)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	return s, nil
}

func gateSchema(s *schema.Schema) (*jsonschema.Schema, error) {
	if s == nil {
		return nil, nil
	}
	g := new(jsonschema.Schema)
	return g, json.Unmarshal(s.JSON(), g)
}

const dialect = "https://json-schema.org/draft/2020-12/schema"

// oneDialect refuses older drafts, also in parts: the two validators read them
// differently, and what the one bounds the other has to mean too.
func oneDialect(v any) error {
	switch v := v.(type) {
	case map[string]any:
		if named, ok := v["$schema"].(string); ok && named != dialect {
			return fmt.Errorf("$schema is %q: write %q, or leave it out", named, dialect)
		}
		for _, item := range v {
			if err := oneDialect(item); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range v {
			if err := oneDialect(item); err != nil {
				return err
			}
		}
	}
	return nil
}

// needs is what a call of the plan requires. The gate's own validator sets no
// bounds to the work that a schema causes, and this one was written by anybody:
// an input that it could not judge in time never gets there.
func (p *Plan) needs(input json.RawMessage) []caps.Request {
	if p.input != nil {
		var misfit *schema.Error
		if err := p.input.Validate(input); err != nil && !errors.As(err, &misfit) {
			return []caps.Request{caps.Invalid(err)}
		}
	}
	return []caps.Request{caps.Need("invoke", p.path)}
}
