package tools_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"usher/caps"
	"usher/tools"
)

// BenchmarkDenied is a call that is denied, beside what reading its input costs
// anyhow: no more than that may come of a size that the caller chooses.
func BenchmarkDenied(b *testing.B) {
	op := writer(new([]string))
	g, mint := gate(b, nil, op)
	set := caps.Of(caps.MustCapability("w/notes/", "crud"), caps.MustCapability("w/", "crud/read"))
	agent := mint.Agent(owner(b, 1), "a", func() caps.Set { return set })
	for _, size := range []int{100, 10_000, 1_000_000} {
		input := json.RawMessage(`{"path":"w/secret","value":"` + strings.Repeat("x", size) + `"}`)
		b.Run(fmt.Sprintf("%d/read", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := op.Requirements(input); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("%d/denied", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := g.Invoke(b.Context(), agent, tools.Invocation{Operation: "test:write", Input: input}); err == nil {
					b.Fatal("it is allowed")
				}
			}
		})
	}
}
