package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"usher/runtime"
)

// deleter is a model that deletes the paths which it is told, one a line, all at once.
type deleter struct{}

var _ runtime.Model = deleter{}

// Generate makes the calls, and then says that it did.
func (deleter) Generate(_ context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		last := req.Messages[len(req.Messages)-1]
		if last.Role == runtime.RoleTool {
			yield(runtime.Chunk{Text: "done"}, nil)
			return
		}
		n := 0
		for line := range strings.Lines(last.Text) {
			path, ok := strings.CutPrefix(strings.TrimSpace(line), "delete ")
			if !ok {
				continue
			}
			input, err := json.Marshal(map[string]string{"path": path})
			if !yield(runtime.Chunk{Call: &runtime.CallDelta{Index: n, ID: fmt.Sprint("call-", n), Name: "covia_delete", Arguments: string(input)}}, err) {
				return
			}
			n++
		}
		if n == 0 {
			yield(runtime.Chunk{Text: "nothing to delete"}, nil)
		}
	}
}
