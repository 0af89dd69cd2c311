package server_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"usher/venue/visitors"
)

// What came of an execute is told as long as the venue offers the capability.
func TestWhatIsOfferedNoMoreIsNotTold(t *testing.T) {
	w := visitorOpen(t, nil)
	a := w.host().approved(object{"capabilities": []any{"read_slowly"}})
	status, out := a.execute("read_slowly", object{"path": "w/accounts/one"})
	if status != http.StatusAccepted {
		t.Fatalf("execute: %d %v", status, out)
	}
	path := strings.TrimPrefix(out["status_url"].(string), w.server.URL)
	for status == http.StatusAccepted {
		status, out = w.get(path, a.jwt(nil))
	}
	if status != http.StatusOK || out["status"] != "completed" {
		t.Fatalf("the job: %d %v", status, out)
	}
	w.offers("    - {name: read_slowly, operation: 'covia:read', caps: [{with: w/accounts/, can: crud/read}], answer: async}\n", "")
	status, out = w.get(path, a.jwt(nil))
	w.want("of what is offered no more", status, out, http.StatusForbidden, "capability_not_granted")
}

// A service is told of those grants alone that the JWT before it lets be used.
func TestIntrospectionKeepsToTheClaim(t *testing.T) {
	w := visitorOpen(t, nil)
	secret := "a secret of the bank"
	if err := w.alice.user.SetSecret(t.Context(), "BANK", secret); err != nil {
		t.Fatal(err)
	}
	a := w.host().approved(object{"capabilities": []any{"read_account", "write_account", "elsewhere"}})
	for _, tc := range []struct {
		claims object
		want   string
	}{
		{nil, "read_account write_account elsewhere"},
		{object{"capabilities": []any{"elsewhere"}, "aud": "https://bank.example.org/run"}, "elsewhere"},
		{object{"capabilities": []any{"read_account", "pay"}}, "read_account"},
		{object{"capabilities": []any{}}, ""},
	} {
		status, out := w.post("/agent/introspect", secret, object{"token": a.jwt(tc.claims)})
		list, _ := out["agent_capability_grants"].([]any)
		var names []string
		for _, one := range list {
			names = append(names, one.(object)["capability"].(string))
		}
		if got := strings.Join(names, " "); status != http.StatusOK || out["active"] != true || got != tc.want {
			t.Errorf("of %v: %d %v, want %q", tc.claims, status, out, tc.want)
		}
	}
	if status, out := a.execute("read_account", object{"path": "w/accounts/one"}); status != http.StatusOK {
		t.Errorf("afterwards: %d %v", status, out)
	}
}

// A JWT that is for some capabilities gives whoever bears it no other: it changes nothing of its
// agent, and is told of no other's jobs.
func TestAClaimChangesNothing(t *testing.T) {
	w := visitorOpen(t, nil)
	a := w.host().approved(object{"capabilities": []any{"read_account", "read_slowly"}})
	next := visitorNewKey()
	for path, body := range map[string]object{
		"/agent/rotate-key":         {"agent_id": a.id, "public_key": next.public},
		"/agent/request-capability": {"capabilities": []any{"write_account"}},
		"/agent/revoke-capability":  {"agent_id": a.id, "capabilities": []any{"read_slowly"}},
		"/agent/revoke":             {"agent_id": a.id},
	} {
		for _, claim := range [][]any{{"read_account"}, {}} {
			status, out := w.post(path, a.jwt(object{"capabilities": claim}), body)
			w.want(path, status, out, http.StatusForbidden, "capability_not_granted")
		}
	}
	status, out := a.execute("read_slowly", object{"path": "w/accounts/one"})
	if status != http.StatusAccepted {
		t.Fatalf("the agent is as it was: %d %v", status, out)
	}
	path := strings.TrimPrefix(out["status_url"].(string), w.server.URL)
	status, out = w.get(path, a.jwt(object{"capabilities": []any{"read_account"}}))
	w.want("a job", status, out, http.StatusForbidden, "capability_not_granted")
	if status, out := w.get(path, a.jwt(object{"capabilities": []any{"read_slowly"}})); status != http.StatusOK && status != http.StatusAccepted {
		t.Errorf("its own job: %d %v", status, out)
	}
	if status, out := w.get("/agent/status", a.jwt(object{"capabilities": []any{"read_account"}})); status != http.StatusOK {
		t.Errorf("its status: %d %v", status, out)
	}
}

// A guest, of whom there are as many as anybody makes keys, is told of no code whether it is one.
func TestGuestsGuessNoCodes(t *testing.T) {
	w := visitorOpen(t, nil)
	a, _ := w.host().register(nil)
	guest := visitors.Person{DID: w.itself(visitorNewKey()).DID(), Since: time.Now()}
	for what, which := range map[string]visitors.Which{
		"that is one":  {Code: code(a.was)},
		"that is none": {Code: "AAAA-AAAA", Agent: a.id},
	} {
		for range 6 {
			_, err := w.venue.Visitors().Find(t.Context(), guest, which)
			if refused, is := errors.AsType[*visitors.Refusal](err); !is || refused.Code != visitors.Unauthorized {
				t.Errorf("a code %s: %v", what, err)
			}
		}
	}
	if status, out := w.alice.answer(object{"agent_id": a.id, "user_code": code(a.was), "action": "approve"}); status != http.StatusOK {
		t.Errorf("a user of the venue: %d %v", status, out)
	}
}
