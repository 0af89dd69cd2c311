package venue_test

import (
	"strings"
	"testing"

	"usher/tools/agents"
)

// An agent with a key of its own is told where its capabilities cut off what was
// delegated to it; an agent that acts as its owner is told nothing of what the owner
// was given.
func TestADenialNamesTheDelegationThatCapsCutOff(t *testing.T) {
	const hint = "A delegation made out to you covers this"
	p := new(puppet)
	v := open(t, with(p))
	alice, bob := user(t, v, "alice"), user(t, v, "bob")
	invoke(t, bob, "covia:write", `{"path":"w/shared/plan","value":"soon"}`)
	there := bob.DID().String() + "/w/shared"
	for _, c := range []struct {
		name, identity, caps string
		delegated, hinted    bool
	}{
		{"bare caps", agents.IdentityOwn, `[{"with":"w/","can":"crud"}]`, true, true},
		{"nothing delegated", agents.IdentityOwn, `[{"with":"w/","can":"crud"}]`, false, false},
		{"as its owner", "", `[{"with":"w/","can":"crud"}]`, true, false},
		{"caps that name the owner", agents.IdentityOwn, `[{"with":"` + there + `","can":"crud/read"}]`, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := spec(strings.ReplaceAll(c.name, " ", "-"), "", c.caps)
			s.Identity = c.identity
			agent := create(t, alice, s)
			info, err := agent.Info(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			audience := alice.DID().String()
			if c.identity != "" {
				audience = info.DID
			}
			if c.delegated {
				delegate(t, bob, audience, "crud/read", "w/shared")
			}
			done := attempt(t, agent, p, "covia_read", `{"path":"`+there+`/plan"}`)
			if got := strings.Contains(done.Result, hint); got != c.hinted {
				t.Errorf("told of the delegation: %v, want %v: %s", got, c.hinted, done.Result)
			}
			if read := strings.Contains(done.Result, "soon"); read != (c.name == "caps that name the owner") {
				t.Errorf("read it: %v: %s", read, done.Result)
			}
		})
	}
}
