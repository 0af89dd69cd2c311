package venue_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"usher/runtime"
	"usher/tools/agents"
	"usher/tools/fault"
	"usher/venue"
)

// TestManyChangeOneThing has many calls at once change what they have in common: each of them waits
// for the others, and none is refused since they were faster.
func TestManyChangeOneThing(t *testing.T) {
	v := open(t, &venue.Options{Dir: t.TempDir(), Models: map[string]runtime.Model{"default": clerk{}}})
	alice := user(t, v, "alice")
	create(t, alice, agents.Spec{ID: "Carol", Prompt: "You help."})
	for _, call := range []struct{ operation, input string }{
		{"covia:write", `{"path": "w/new%d", "value": 1}`},
		{"covia:write", `{"path": "w/one/%d", "value": 1}`},
		{"covia:delete", `{"path": "w/new%d"}`},
		{"agent:update", `{"agentId": "Carol", "config": {"prompt": "You help %d."}}`},
		{"scheduler:schedule", `{"name": "n%d", "operation": "covia:read", "input": {"path": "w/x"}, "after": "1h"}`},
	} {
		t.Run(call.operation, func(t *testing.T) {
			var all sync.WaitGroup
			for n := range 200 {
				all.Go(func() {
					if _, err := alice.Invoke(t.Context(), call.operation, json.RawMessage(fmt.Sprintf(call.input, n))); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
		})
	}
}

// TestManyReachOneBound has many calls at once take what only some of them may.
func TestManyReachOneBound(t *testing.T) {
	v := open(t, &venue.Options{Dir: t.TempDir()})
	alice := user(t, v, "alice")
	var all sync.WaitGroup
	var made atomic.Int32
	for n := range 280 {
		all.Go(func() {
			_, err := alice.Invoke(t.Context(), "token:create", json.RawMessage(fmt.Sprintf(`{"name": "t%d"}`, n)))
			if err == nil {
				made.Add(1)
			} else if fault.Of(err) != fault.LimitReached {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if made.Load() != 256 {
		t.Errorf("%d tokens were made, where a principal may have 256", made.Load())
	}
}
