package venue_test

import (
	"strings"
	"testing"
)

// What an agent is told follows its record, from turn to turn.
func TestABriefingFollowsTheRecord(t *testing.T) {
	v := open(t, with(new(puppet)))
	alice := user(t, v, "alice")
	invoke(t, alice, "agent:create", `{"agentId":"bob","config":{"prompt":"You count stones.","tools":["covia:read"],"caps":[]}}`)
	bob := agentOf(t, alice, "bob")
	told := func() (string, int) {
		t.Helper()
		b, err := bob.Brief(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return b.System, len(b.Tools)
	}
	if system, tools := told(); !strings.Contains(system, "You count stones.") || tools != 0 {
		t.Errorf("first: %d tools and %s", tools, system)
	}
	invoke(t, alice, "agent:update", `{"agentId":"bob","config":{"prompt":"You count stars.","tools":["covia:read","covia:write"],"caps":[{"with":"w/","can":"crud"}]}}`)
	if system, tools := told(); !strings.Contains(system, "You count stars.") || strings.Contains(system, "stones") || tools != 2 {
		t.Errorf("after the update: %d tools and %s", tools, system)
	}
}
