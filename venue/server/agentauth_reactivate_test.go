package server_test

import (
	"net/http"
	"testing"
	"time"

	"usher/venue"
)

// What a person has revoked from an agent, refused it, or granted it less of, it has no more of by
// going on, until a person grants it again.
func TestReactivationKeepsToAPersonsWord(t *testing.T) {
	one, two := object{"path": "w/accounts/one"}, object{"path": "w/accounts/two"}
	only := object{"name": "read_account", "constraints": object{"path": "w/accounts/one"}}
	revokes := func(w *world, a *agent) {
		if status, out := w.alice.post("/agent/revoke-capability", object{"agent_id": a.id, "capabilities": []any{"read_account"}}); status != http.StatusOK {
			w.Fatalf("revoke: %d %v", status, out)
		}
	}
	approved := func(limits ...any) func(w *world, h *visitorHost) *agent {
		return func(_ *world, h *visitorHost) *agent {
			return h.approved(object{"capabilities": []any{"read_account", "write_account"}}, limits...)
		}
	}
	byDefault := func(_ *world, h *visitorHost) *agent {
		h.approved(nil)
		return h.approved2(object{"capabilities": []any{"read_account"}})
	}
	for name, x := range map[string]struct {
		agent func(*world, *visitorHost) *agent
		then  func(*world, *agent)
		args  object // that the agent may not execute afterwards
		kept  object // and that it may
	}{
		"approved, and revoked":  {approved(), revokes, one, nil},
		"a default, and revoked": {byDefault, revokes, one, nil},
		"left out":               {approved("write_account"), nil, one, nil},
		"within limits":          {approved(only), nil, two, one},
		"within limits, returned": {approved(only), func(w *world, a *agent) {
			w.post("/agent/revoke-capability", a.jwt(nil), object{"capabilities": []any{"read_account"}})
		}, two, nil},
		"a delegation revoked": {byDefault, func(w *world, a *agent) {
			list, err := w.alice.invoke("ucan:list", object{"issued": true})
			if err != nil {
				w.Fatal(err)
			}
			for _, token := range list["tokens"].([]any) {
				if _, err := w.alice.invoke("ucan:revoke", object{"cid": token.(object)["cid"]}); err != nil {
					w.Fatal(err)
				}
			}
		}, one, nil},
		"for a time": {func(w *world, h *visitorHost) *agent {
			a, _ := h.register(nil)
			if status, out := w.alice.answer(object{"agent_id": a.id, "user_code": code(a.was), "action": "approve", "ttl": 900}); status != http.StatusOK {
				w.Fatalf("approve: %d %v", status, out)
			}
			return a
		}, nil, one, nil},
		"neither": {byDefault, nil, object{"path": "w/secret"}, one},
		"returned by itself": {byDefault, func(w *world, a *agent) {
			w.post("/agent/revoke-capability", a.jwt(nil), object{"capabilities": []any{"read_account"}})
		}, object{"path": "w/secret"}, one},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			w := visitorOpen(t, &venue.Options{Now: c.now})
			h := w.host()
			a := x.agent(w, h)
			if x.then != nil {
				x.then(w, a)
			}
			for n := range 2 {
				c.pass(61 * time.Minute)
				if status, out := w.post("/agent/reactivate", h.jwt(nil), object{"agent_id": a.id}); status != http.StatusOK || out["status"] != "active" {
					t.Fatalf("reactivate: %d %v", status, out)
				}
				if status, out := a.execute("read_account", x.args); status != http.StatusForbidden {
					t.Errorf("gone on %d times: %d %v", n+1, status, out)
				}
				if x.kept == nil {
					continue
				}
				if status, out := a.execute("read_account", x.kept); status != http.StatusOK {
					t.Errorf("gone on %d times, what it may: %d %v", n+1, status, out)
				}
			}
			_, out := w.post("/agent/request-capability", a.jwt(nil), object{"capabilities": []any{"read_account"}})
			if code(out) == "" {
				return // it has all of it
			}
			if status, out := w.alice.answer(object{"user_code": code(out), "action": "approve"}); status != http.StatusOK {
				t.Fatalf("grant it again: %d %v", status, out)
			}
			c.pass(61 * time.Minute)
			w.post("/agent/reactivate", h.jwt(nil), object{"agent_id": a.id})
			if status, out := a.execute("read_account", one); status != http.StatusOK {
				t.Errorf("granted again: %d %v", status, out)
			}
		})
	}
}
