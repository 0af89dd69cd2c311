package venue_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"usher/caps"
	"usher/tools/agents"
	"usher/ucan"
)

// What an agent signed ends with the agent, also where its owner's key is elsewhere:
// by the key of the venue, which the owner lets hand on, and by the agent's own.
func TestSignedForAPrincipalFromElsewhere(t *testing.T) {
	for name, end := range map[string]string{
		"suspended": "agent:suspend", "ended": "agent:delete",
	} {
		t.Run(name, func(t *testing.T) {
			p := new(puppet)
			o := with(p)
			o.Auth.Guests.Agents = true
			v := open(t, o)
			issuer := newIssuer(t)
			alice, err := v.Authenticate(t.Context(), identity(t, issuer, v.DID()))
			if err != nil {
				t.Fatal(err)
			}
			bob, mine := user(t, v, "bob"), alice.DID().String()
			invoke(t, alice, "covia:write", `{"path":"w/a","value":1}`)
			s := spec("ann", "", `[{"with":"w/","can":"crud"},{"with":"","can":"ucan"}]`)
			s.Tools = []string{"ucan:*"}
			ann := create(t, alice, s)
			s = spec("ben", "", `[{"with":"`+mine+`/w","can":"crud"},{"with":"","can":"ucan"}]`)
			s.Identity = agents.IdentityOwn
			s.Tools = []string{"ucan:*"}
			ben := create(t, alice, s)

			imports := func(audience string) {
				t.Helper()
				to, err := ucan.ParseDID(audience)
				if err != nil {
					t.Fatal(err)
				}
				links, err := issuer.Delegate(t.Context(), ucan.Delegation{
					Audience: to, Capabilities: []caps.Capability{caps.MustCapability(mine+"/w", "crud")}, Expires: time.Now().Add(time.Hour), Format: ucan.JWT,
				})
				if err != nil {
					t.Fatal(err)
				}
				raw, err := json.Marshal(map[string]any{"tokens": []string{links[0].Text()}})
				if err != nil {
					t.Fatal(err)
				}
				invoke(t, alice, "ucan:import", string(raw))
			}
			signed := func(agent, tool, input string) {
				t.Helper()
				of, err := alice.Agent(t.Context(), agent)
				if err != nil {
					t.Fatal(err)
				}
				if done := attempt(t, of, p, tool, input); done.Outcome != "ok" {
					t.Fatalf("%s signs nothing: %s", agent, done.Result)
				}
				if err := canRead(t, bob, mine+"/w/a"); err != nil {
					t.Fatalf("what %s signed gives nothing: %v", agent, err)
				}
				invoke(t, alice, end, fmt.Sprintf(`{"agentId":%q}`, agent))
				if canRead(t, bob, mine+"/w/a") == nil {
					t.Errorf("what %s signed outlives it", agent)
				}
			}
			imports(v.DID().String())
			signed(ann.ID(), "ucan_issue", fmt.Sprintf(`{"audience":%q,"attenuations":[{"with":"w/","can":"crud/read"}],"exp":%d}`, bob.DID(), time.Now().Add(30*time.Minute).Unix()))
			imports(actsAs(t, ben))
			signed(ben.ID(), "ucan_delegate", fmt.Sprintf(`{"audience":%q,"capabilities":[{"with":"%s/w","can":"crud/read"}],"format":"jwt","ttl":"30m"}`, bob.DID(), mine))
		})
	}
}
