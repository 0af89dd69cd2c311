package schema_test

import (
	"context"
	"encoding/json"
	"fmt"

	"usher/tools/schema"
)

func ExampleSchema_Validate() {
	s, err := schema.Compile(context.Background(), json.RawMessage(`{
		"type": "object",
		"required": ["id"],
		"properties": {"lines": {"type": "array", "items": {"properties": {"amount": {"type": "number"}}}}}
	}`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Validate(context.Background(), json.RawMessage(`{"lines": [{"amount": 12.5}, {"amount": "12.5"}]}`), nil))
	// Output: id: required, but missing; lines[1].amount: expected number, got string
}
