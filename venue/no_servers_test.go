package venue_test

import (
	"testing"

	"usher/tools/fault"
)

// A venue that was opened without a configuration has no MCP servers, and says so.
func TestNoServers(t *testing.T) {
	alice := user(t, open(t, nil), "alice")
	if list := invoke(t, alice, "mcp:list", `{}`); list != `{"servers":[]}` {
		t.Errorf("mcp:list = %s", list)
	}
	for _, op := range []string{"mcp:inspect", "mcp:accept"} {
		if _, err := alice.Invoke(t.Context(), op, map[string]any{"server": "files"}); fault.Of(err) != fault.NotFound {
			t.Errorf("%s: %v, want not found", op, err)
		}
	}
}
