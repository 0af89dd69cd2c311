package venue_test

import (
	"testing"

	"usher/runtime"
	"usher/tools/agents"
)

// An agent that was suspended stays so, whoever takes its place: also as another
// principal, which is another agent.
func TestASuspendedAgentIsNotReplacedByOneThatWorks(t *testing.T) {
	p := new(puppet)
	v := open(t, with(p))
	alice := user(t, v, "alice")
	kid := create(t, alice, spec("kid", "", `[{"with":"w/","can":"crud"}]`))
	dave := create(t, alice, spec("dave", "", `[{"with":"w/","can":"crud"},{"with":"g/","can":"agent/create"}]`))
	invoke(t, alice, "agent:suspend", `{"agentId":"kid"}`)
	for _, config := range []string{`{"identity":"own","caps":[]}`, `{"caps":[{"with":"w/","can":"crud"}]}`, `{}`} {
		if done := attempt(t, dave, p, "agent_create", `{"agentId":"kid","overwrite":true,"config":`+config+`}`); done.Outcome != runtime.ToolOK {
			t.Fatalf("%s: %s", config, done.Result)
		}
		info, err := kid.Info(t.Context())
		if err != nil || info.Status != agents.Suspended {
			t.Errorf("overwritten with %s it is %s, %v", config, info.Status, err)
		}
	}
}
