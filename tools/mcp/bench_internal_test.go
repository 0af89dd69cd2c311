package mcp

import (
	"encoding/json"
	"fmt"
	"testing"
)

// fiveHundred are tools as big as those of common servers.
func fiveHundred() *listing {
	l := new(listing)
	for i := range 500 {
		l.tools = append(l.tools, Tool{
			Name: fmt.Sprintf("read_%d", i), Description: "Reads a file, and says what is in it, as far as that is text.",
			Input: json.RawMessage(`{"type":"object","required":["path"],"additionalProperties":false,"properties":{"path":{"type":"string","description":"where it lies"},"head":{"type":"number"},"tail":{"type":"number"}}}`),
		})
	}
	return l
}

// What 500 tools that were accepted add to the opening of a venue.
func BenchmarkSet500(b *testing.B) {
	server := Server{ID: "s", Command: []string{"x"}, Tools: []Line{{Match: "read_*", Can: "crud/read", With: templates{"file://docs/{path}"}}}}
	l := newLair(b, Options{})
	if err := l.keeper.Save(b.Context(), "s", Record{}.after(server.digest(), fiveHundred())); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		l.set()
		l.set(server)
	}
	if n := len(l.registry.Of(l.owner)); n != 503 {
		b.Fatalf("%d operations, want 503", n)
	}
}
