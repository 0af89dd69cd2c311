package wrap_test

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"usher/runtime"
	"usher/runtime/offline"
	"usher/runtime/wrap"
	"usher/tools/spend"
)

func Example() {
	run := spend.NewBudget("run", spend.Limits{Calls: 1})
	var cassette bytes.Buffer
	model := wrap.Record(wrap.Retry(wrap.Meter(wrap.Timeout(offline.Model{},
		wrap.TimeoutOptions{FirstChunk: 30 * time.Second}), "offline", nil), nil), &cassette, nil)

	ctx := runtime.WithBudgets(context.Background(), run)
	req := &runtime.Request{Messages: []runtime.Message{{Role: runtime.RoleUser, Text: "read w/notes"}}}
	for range 2 {
		for chunk, err := range model.Generate(ctx, req) {
			switch {
			case err != nil:
				fmt.Println(err)
			case chunk.Call != nil:
				fmt.Println(chunk.Call.Name, chunk.Call.Arguments)
			}
		}
	}
	// Output:
	// covia_read {"path":"w/notes"}
	// budget "run" is spent: 1 of 1 call: the owner can raise it
}

// Whoever has an answer before the provider stands outside.
func ExampleCache() {
	spare := wrap.Limit(offline.Model{}, wrap.LimitOptions{PerMinute: 60, Concurrent: 4})
	model := wrap.Cache(wrap.Fallback(offline.Model{}, spare), &wrap.CacheOptions{TTL: time.Hour})
	var cassette bytes.Buffer
	req := &runtime.Request{Messages: []runtime.Message{{Role: runtime.RoleUser, Text: "list w/"}}}
	for range wrap.Record(model, &cassette, nil).Generate(context.Background(), req) {
	}
	replayed, err := wrap.Replay(&cassette, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for chunk := range replayed.Generate(context.Background(), req) {
		if chunk.Call != nil {
			fmt.Println(chunk.Call.Name, chunk.Call.Arguments)
		}
	}
	// Output: covia_list {"path":"w/"}
}
