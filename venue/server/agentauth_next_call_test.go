package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"usher/venue"
	"usher/venue/config"
)

// What is known of an agent from its last call binds nobody: each change is seen by the next
// one, whoever has made it.
func TestTheNextCallIsBound(t *testing.T) {
	configured := func(old, changed string) func(*world, *agent, *clock) {
		return func(w *world, _ *agent, _ *clock) {
			c, err := config.Parse("usher.yaml", []byte(strings.Replace(settings, old, changed, 1)))
			if err == nil {
				err = w.venue.Configure(w.Context(), c)
			}
			if err != nil {
				w.Fatal(err)
			}
		}
	}
	sent := func(path string, extra object) func(*world, *agent, *clock) {
		return func(w *world, a *agent, _ *clock) {
			body := object{"agent_id": a.id}
			for k, v := range extra {
				body[k] = v
			}
			if strings.HasPrefix(path, "/host/") {
				body = nil
			}
			if status, out := w.post(path, a.visitorHost.jwt(nil), body); status != http.StatusOK {
				w.Fatalf("%s: %d %v", path, status, out)
			}
		}
	}
	// stored writes a record as another process would.
	stored := func(old, changed string) func(*world, *agent, *clock) {
		return func(w *world, a *agent, _ *clock) {
			space, key := w.venue.Visitors().Store, "visit/agent/"+a.id
			raw, rev, err := space.Get(w.Context(), key)
			if err != nil || !strings.Contains(string(raw), old) {
				w.Fatalf("the record is %s, %v", raw, err)
			}
			value := []byte(strings.Replace(string(raw), old, changed, 1))
			if moved, err := space.Apply(w.Context(), map[string]uint64{key: rev}, map[string][]byte{key: value}, nil); moved != "" || err != nil {
				w.Fatal(moved, err)
			}
		}
	}
	const capability = "name: write_account, operation: 'covia:write', caps: [{with: w/accounts/, can: crud/write}]"
	for name, c := range map[string]struct {
		change func(*world, *agent, *clock)
		status int
		code   string
	}{
		"nothing":                       {func(*world, *agent, *clock) {}, 200, ""},
		"the capability is revoked":     {sent("/agent/revoke-capability", object{"capabilities": []any{"write_account"}}), 403, "grant_revoked"},
		"another capability is revoked": {sent("/agent/revoke-capability", object{"capabilities": []any{"read_account"}}), 200, ""},
		"the agent is revoked":          {sent("/agent/revoke", nil), 403, "agent_revoked"},
		"the host is revoked":           {sent("/host/revoke", nil), 403, "agent_revoked"},
		"the key is another":            {sent("/agent/rotate-key", object{"public_key": visitorNewKey().public}), 401, "invalid_jwt"},
		"the session is over":           {func(_ *world, _ *agent, c *clock) { c.pass(61 * time.Minute) }, 403, "agent_expired"},
		"sessions are shorter": {func(w *world, a *agent, c *clock) {
			c.pass(2 * time.Minute)
			configured("agentauth:\n", "agentauth:\n  session: 1m\n")(w, a, c)
		}, 403, "agent_expired"},
		"a limit is imposed":         {configured(capability, capability+", constraints: {value: {max: 3}}"), 403, "constraint_violated"},
		"a limit leaves nothing":     {configured(capability, capability+", constraints: {value: {min: 11}}"), 403, "constraint_violated"},
		"it gives less":              {configured(capability, strings.Replace(capability, "w/accounts/", "w/accounts/two", 1)), 403, "capability_denied"},
		"it is not there any more":   {configured(capability, strings.Replace(capability, "write_account", "write_other", 1)), 403, "capability_not_granted"},
		"it is executed elsewhere":   {configured(capability, capability+", location: 'https://bank.example.org/w'"), 400, "invalid_request"},
		"another process narrows it": {stored(`"value":{"max":10}`, `"value":{"max":4}`), 403, "constraint_violated"},
		"another process revokes it": {stored(`"status":"active","key"`, `"status":"revoked","key"`), 403, "agent_revoked"},
		"a person revokes the delegation": {func(w *world, _ *agent, _ *clock) {
			out, err := w.alice.user.Invoke(w.Context(), "ucan:list", object{"issued": true})
			if err != nil {
				w.Fatal(err)
			}
			var list struct{ Tokens []struct{ CID string } }
			if err := json.Unmarshal(out, &list); err != nil || len(list.Tokens) == 0 {
				w.Fatalf("%s, %v", out, err)
			}
			for _, one := range list.Tokens {
				if _, err := w.alice.user.Invoke(w.Context(), "ucan:revoke", object{"cid": one.CID}); err != nil {
					w.Fatal(err)
				}
			}
		}, 403, "grant_revoked"},
	} {
		t.Run(name, func(t *testing.T) {
			clock := newClock()
			w := visitorOpen(t, &venue.Options{Now: clock.now})
			a := w.host().approved(object{"capabilities": []any{"read_account", object{"name": "write_account", "constraints": object{"value": object{"max": 10}}}}})
			write := object{"path": "w/accounts/one", "value": 9}
			for range 2 {
				if status, out := a.execute("write_account", write); status != http.StatusOK {
					t.Fatalf("before: %d %v", status, out)
				}
			}
			c.change(w, a, clock)
			status, out := a.execute("write_account", write)
			w.want("afterwards", status, out, c.status, c.code)
		})
	}
}
