package venue_test

import (
	"encoding/json"
	"strings"
	"testing"

	"usher/tools/agents"
	"usher/venue"
)

// A program that another user's agent wrote does nothing until its owner adopts
// it, also where that agent acts on its own: what it could reach by itself, by
// tokens, is not what its capabilities say.
func TestProgramsFromAbroad(t *testing.T) {
	for _, authority := range []string{"caller", agents.AuthorityOwn} {
		for _, identity := range []string{agents.IdentityOwner, agents.IdentityOwn} {
			t.Run(authority+" "+identity, func(t *testing.T) {
				p := new(puppet)
				v := open(t, with(p))
				alice, bob := user(t, v, "alice"), user(t, v, "bob")
				invoke(t, alice, "covia:write", `{"path":"w/secret","value":"4711"}`)
				s := spec("mallory", "", `[{"with":"`+alice.DID().String()+`/","can":"crud"},{"with":"`+alice.DID().String()+`/w","can":"crud"},{"with":"`+alice.DID().String()+`/o","can":"crud"}]`)
				s.Authority, s.Identity = authority, identity
				mallory := create(t, bob, s)
				delegate(t, alice, actsAs(t, mallory), "crud/write", "o/report")
				done := attempt(t, mallory, p, "covia_write", `{"path":"`+alice.DID().String()+`/o/report","value":`+copiesTheSecret+`}`)
				if done.Outcome != "ok" {
					t.Fatalf("it is not planted: %s", done.Result)
				}
				run := func() string {
					_, _ = alice.Invoke(t.Context(), "grid:run", json.RawMessage(`{"operation":"o/report"}`))
					return read(t, alice, "w/open/loot")
				}
				if got := run(); strings.Contains(got, "4711") {
					t.Errorf("alice ran what bob's agent wrote: %s", got)
				}
				invoke(t, alice, "agent:adopt", `{"path":"o/report"}`)
				if got := run(); !strings.Contains(got, "4711") {
					t.Errorf("alice ran what she adopted: %s", got)
				}
			})
		}
	}
}

func actsAs(t *testing.T, a *venue.Agent) string {
	t.Helper()
	info, err := a.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return info.DID
}

// So does what is copied from another user who never signed it, as what a configuration wrote.
func TestProgramsCopiedFromAbroad(t *testing.T) {
	v := open(t, &venue.Options{Config: parse(t, `
user: bob
models: {default: {provider: offline}}
orchestrations: [{id: report, steps: [{op: covia:copy, input: {from: [const, w/secret], to: [const, w/open/loot]}}]}]
`)})
	alice, bob := user(t, v, "alice"), user(t, v, "bob")
	invoke(t, alice, "covia:write", `{"path":"w/secret","value":"4711"}`)
	delegate(t, bob, alice.DID().String(), "crud/read", "o/report")
	invoke(t, alice, "covia:copy", `{"from":"`+bob.DID().String()+`/o/report","to":"o/report"}`)
	run := func() string {
		_, _ = alice.Invoke(t.Context(), "grid:run", json.RawMessage(`{"operation":"o/report"}`))
		return read(t, alice, "w/open/loot")
	}
	if got := run(); strings.Contains(got, "4711") {
		t.Errorf("alice ran what she had copied from bob: %s", got)
	}
	invoke(t, alice, "agent:adopt", `{"path":"o/report"}`)
	if got := run(); !strings.Contains(got, "4711") {
		t.Errorf("alice ran what she adopted: %s", got)
	}
}
