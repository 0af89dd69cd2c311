package mcp

import (
	"testing"

	"usher/caps"
	"usher/tools/fault"
)

// A field of a URI that no capability names leads nowhere else, either.
func TestMaterialBesideItsFields(t *testing.T) {
	l := newLair(t, Options{transport: inMemory(withMaterial)})
	l.set(Server{
		ID: "s", Command: []string{"x"},
		Resources: []Material{{Match: "docs://all/{team}/{path...}", Can: "crud/read", With: "docs/{team}"}, {Match: "docs://one/{team}/{name}", Can: "crud/read", With: "docs/{team}"}},
	})
	set := caps.Of(caps.MustCapability("docs/red", "crud/read"))
	for _, uri := range []string{
		"docs://all/red/../blue/a", "docs://all/red/a/../../blue", "docs://all/red/..", "docs://all/red/./a", "docs://all/red//a", `docs://all/red/.\t./blue/a`, `docs://all/red/a\n`, "docs://all/red/a b",
		"docs://one/red/..", `docs://one/red/.\n.`, "docs://one/red/.",
	} {
		if out, err := l.may(&set, "mcp/s/resources/read", `{"uri":"`+uri+`"}`); fault.Of(err) != fault.InvalidInput {
			t.Errorf("%s = %s, %v", uri, out, err)
		}
	}
	if _, err := l.may(&set, "mcp/s/resources/read", `{"uri":"docs://all/red/plans/a"}`); err != nil {
		t.Error(err)
	}
}
