package orchestrate

import (
	"encoding/json"
	"fmt"

	"usher/caps/value"
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
		return fmt.Errorf(`operation.input: its type is %s: an operation takes an object: write "type":"object"`, value.Show(head.Type))
	}
	return nil
}

func readSchema(raw json.RawMessage, at string) (*schema.Schema, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	s, err := schema.Compile(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	return s, nil
}
