package prepare

import (
	"context"

	"usher/tools"
)

// Call runs an operation without the gate.
func Call(op *tools.Operation) (any, error) {
	p, err := op.prepare([]byte(`{}`))
	if err != nil {
		return nil, err
	}
	return p.run(context.Background(), tools.Call{})
}
