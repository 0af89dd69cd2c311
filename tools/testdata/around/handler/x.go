package handler

import (
	"context"

	"usher/tools"
)

// Call runs an operation without the gate.
func Call(op *tools.Operation) (any, error) {
	return op.run(context.Background(), tools.Call{})
}
