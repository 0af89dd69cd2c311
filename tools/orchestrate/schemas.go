package orchestrate

import (
	"context"
	"encoding/json"
	"fmt"

	"usher/caps/value"
	"usher/tools/schema"
)

// schemas takes the schemas of the operation, where given.
func (p *Plan) schemas(ctx context.Context, b Body, charge schema.Charge) (err error) {
	if p.input, err = readSchema(ctx, b.Input, "operation.input", charge); err != nil {
		return err
	}
	if p.output, err = readSchema(ctx, b.Output, "operation.output", charge); err != nil {
		return err
	}
	if p.input == nil {
		return nil
	}
	var head struct{ Type any }
	if json.Unmarshal(p.input.JSON(), &head) == nil && head.Type != nil && head.Type != "object" {
		return fmt.Errorf(`operation.input: its type is %s: an operation takes an object: write "type":"object"`, value.Show(head.Type))
	}
	return nil
}

func readSchema(ctx context.Context, raw json.RawMessage, at string, charge schema.Charge) (*schema.Schema, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	s, err := schema.Compile(ctx, raw, charge)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	return s, nil
}
