package venue_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"usher/runtime"
	"usher/venue"
)

// What was revoked, and what an agent signed that has ended, is refused after an
// opening with any clock, and not imported anew; what is good is good. A clock that was
// put right is a row of the ledger, once.
func TestNoClockRevives(t *testing.T) {
	noon := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for name, wrong := range map[string]time.Duration{
		"two days ahead": 48 * time.Hour, "ten years ahead": 87_600 * time.Hour, "two days behind": -48 * time.Hour, "ten years behind": -87_600 * time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			dir, now := t.TempDir(), noon
			p := new(puppet)
			opened := func() *venue.Venue {
				t.Helper()
				v, err := venue.Open(t.Context(), &venue.Options{Dir: dir, Now: func() time.Time { return now }, Models: map[string]runtime.Model{"default": p}})
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			shut := func(v *venue.Venue) {
				t.Helper()
				if err := v.Close(); err != nil {
					t.Fatal(err)
				}
			}
			v := opened()
			alice, bob := user(t, v, "alice"), user(t, v, "bob")
			hers := alice.DID().String()
			exported := map[string]json.RawMessage{} // by path
			give := func(path, cid string) string {
				t.Helper()
				invoke(t, alice, "covia:write", fmt.Sprintf(`{"path":%q,"value":1}`, path))
				exported[path] = json.RawMessage(invoke(t, bob, "ucan:export", `{"cid":"`+cid+`"}`))
				return cid
			}
			give("w/good", delegate(t, alice, bob.DID().String(), "crud/read", "w/good"))
			native := give("w/native", delegate(t, alice, bob.DID().String(), "crud/read", "w/native"))
			jwt := give("w/jwt", tokenCID(t, invoke(t, alice, "ucan:issue", `{"audience":"`+bob.DID().String()+`","attenuations":[{"with":"w/jwt","can":"crud/read"}],"exp":`+fmt.Sprint(noon.Add(time.Hour).Unix())+`}`)))
			signer := spec("clerk", "", "")
			signer.Tools = []string{"ucan:*"}
			done := attempt(t, create(t, alice, signer), p, "ucan_delegate", `{"audience":"`+bob.DID().String()+`","capabilities":[{"with":"w/clerk","can":"crud/read"}]}`)
			if done.Outcome != runtime.ToolOK {
				t.Fatal(done.Result)
			}
			give("w/clerk", tokenCID(t, done.Result))
			invoke(t, alice, "agent:delete", `{"agentId":"clerk"}`)
			for _, cid := range []string{native, jwt} {
				invoke(t, alice, "ucan:revoke", `{"cid":"`+cid+`"}`)
			}
			shut(v)

			now = noon.Add(wrong)
			shut(opened())
			now = noon.Add(time.Minute)
			v = opened()
			defer shut(v)
			bob = user(t, v, "bob")
			for _, how := range []string{"stored", "imported anew"} {
				for path := range exported {
					if err := canRead(t, bob, hers+"/"+path); (err == nil) != (path == "w/good") {
						t.Errorf("%s, %s: %v", how, path, err)
					}
				}
				for path, from := range exported {
					var tokens struct{ Tokens []string }
					if err := json.Unmarshal(from, &tokens); err != nil || len(tokens.Tokens) == 0 {
						t.Fatalf("%s: %v", from, err)
					}
					for _, token := range tokens.Tokens {
						_, err := bob.Invoke(t.Context(), "ucan:import", map[string]any{"tokens": []string{token}})
						if (err == nil) != (path == "w/good") {
							t.Errorf("import of %s: %v", path, err)
						}
					}
				}
			}
			said := map[string]int{}
			for row, err := range v.Audit(t.Context(), 1) {
				if err != nil {
					t.Fatal(err)
				}
				if row.Note != "" {
					said[row.Note]++
				}
			}
			if said["the clock stepped back"] != 1 || len(said) != 1 {
				t.Errorf("the ledger says of the clock: %v", said)
			}
		})
	}
}
