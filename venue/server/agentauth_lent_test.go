package server_test

import (
	"net/http"
	"testing"
	"time"

	"usher/venue"
)

// An agent that nobody has approved has what the configuration gives such agents now, and of whom.
func TestAgentsOfNobodyHaveWhatIsGivenNow(t *testing.T) {
	const given = "autonomous: {owner: alice, capabilities: [read_account]}"
	for name, now := range map[string]string{
		"others":        "autonomous: {owner: alice, capabilities: [write_account]}",
		"of another":    "autonomous: {owner: bob, capabilities: [read_account]}",
		"none any more": "",
	} {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			w := visitorOpen(t, &venue.Options{Now: c.now})
			h := w.host()
			a, _ := h.register(object{"mode": "autonomous"})
			approved := w.host().approved(object{"capabilities": []any{"read_account"}})
			read, elsewhere := object{"path": "w/accounts/one"}, object{"path": w.alice.user.DID().String() + "/w/accounts/one"}
			if status, out := a.execute("read_account", read); status != http.StatusOK {
				t.Fatalf("given: %d %v", status, out)
			}
			w.offers(given, now)
			denied := func(when string) {
				t.Helper()
				status, out := a.execute("read_account", read)
				w.want(when, status, out, http.StatusForbidden, "grant_revoked")
				if out, err := w.itself(a.key).Invoke(t.Context(), "covia:read", elsewhere); err == nil {
					t.Errorf("%s, at another face: %s", when, out)
				}
			}
			denied("what is given no more")
			if status, out := approved.execute("read_account", read); status != http.StatusOK {
				t.Errorf("whom a person has approved: %d %v", status, out)
			}
			c.pass(61 * time.Minute)
			if status, out := w.post("/agent/reactivate", h.jwt(nil), object{"agent_id": a.id}); status == http.StatusOK {
				denied("and it goes on")
				w.offers("", "")
				denied("and it is given again, after that")
			} else {
				w.want("it goes on", status, out, http.StatusBadRequest, "unsupported_mode")
			}
		})
	}
}
