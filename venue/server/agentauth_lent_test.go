package server_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"usher/venue"
	"usher/venue/config"
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

// What an agent of an approved host has without asking it has as long as that is given so; what a
// person has approved stays.
func TestDefaultsAreThoseOfNow(t *testing.T) {
	for name, now := range map[string]string{"asked for": "public: true", "asked for with a sign-in": "public: true, approval: session"} {
		t.Run(name, func(t *testing.T) {
			w := visitorOpen(t, nil)
			h := w.host()
			approved := h.approved(object{"capabilities": []any{"read_account"}})
			a := h.approved2(object{"capabilities": []any{"read_account"}})
			read := object{"path": "w/accounts/one"}
			if status, out := a.execute("read_account", read); status != http.StatusOK {
				t.Fatalf("a default: %d %v", status, out)
			}
			cfg, err := config.Parse("usher.yaml", []byte(regexp.MustCompile(`default: true, public: true|(?m)^  autonomous: .*$`).ReplaceAllStringFunc(settings, func(old string) string {
				if strings.HasPrefix(old, "default") {
					return now
				}
				return ""
			})))
			if err == nil {
				err = w.venue.Configure(t.Context(), cfg)
			}
			if err != nil {
				t.Fatal(err)
			}
			status, out := a.execute("read_account", read)
			w.want("what is no default any more", status, out, http.StatusForbidden, "grant_revoked")
			if status, out := approved.execute("read_account", read); status != http.StatusOK {
				t.Errorf("what a person has approved: %d %v", status, out)
			}
		})
	}
}

// An agent that registers again as one that nobody approves waits for nobody: its code is dead.
func TestAnAgentOfNobodyWaitsForNobody(t *testing.T) {
	w := visitorOpen(t, nil)
	h := w.host()
	a, _ := h.register(nil)
	if status, out := h.registerKey(a.key, object{"mode": "autonomous"}); status != http.StatusOK || out["status"] != "active" {
		t.Fatalf("it registers again: %d %v", status, out)
	}
	status, out := w.alice.answer(object{"agent_id": a.id, "user_code": code(a.was), "action": "approve"})
	w.want("the code from before", status, out, http.StatusForbidden, "invalid_user_code")
	if status, out := a.execute("read_account", object{"path": "w/accounts/one"}); status != http.StatusOK {
		t.Errorf("the agent: %d %v", status, out)
	}
}
