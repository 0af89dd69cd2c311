package schema_test

import (
	"encoding/json"
	"fmt"

	"usher/tools/schema"
)

func ExampleSchema_Validate() {
	s, err := schema.Compile(json.RawMessage(`{
		"type": "object",
		"required": ["id"],
		"properties": {"lines": {"type": "array", "items": {"properties": {"amount": {"type": "number"}}}}}
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Validate(json.RawMessage(`{"lines": [{"amount": 12.5}, {"amount": "12.5"}]}`)))
	// Output: id: required, but missing; lines[1].amount: expected number, got string
}
