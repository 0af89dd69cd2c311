package venue_test

import (
	"strings"
	"testing"

	"usher/venue"
)

// A configuration may list an agent before those that bound it.
func TestChildBeforeParent(t *testing.T) {
	v := open(t, &venue.Options{Config: parse(t, `
user: alice
models: {default: {provider: offline}}
agents:
  - {id: Carl, parent: Bea, caps: []}
  - {id: Bea, parent: Ann, caps: []}
  - {id: Ann, caps: []}
`)})
	if got := invoke(t, user(t, v, "alice"), "agent:info", `{"agentId":"Carl"}`); !strings.Contains(got, `"creators":["Bea"]`) {
		t.Errorf("agent:info of Carl says %s, want that Bea has made it", got)
	}
}
