package server_test

import (
	"net/http"
	"testing"
	"time"

	"usher/venue"
)

// What nobody approved within an hour is forgotten, with its host; what somebody did stays.
func TestStraysAreForgotten(t *testing.T) {
	c := newClock()
	w := visitorOpen(t, &venue.Options{Now: c.now})
	kept := w.host()
	approved := kept.approved(object{"capabilities": []any{"read_account"}})
	lost := w.host()
	stray, _ := lost.register(object{"capabilities": []any{"read_account"}})
	c.pass(50 * time.Minute)
	if status, out := w.get("/agent/status?agent_id="+stray.id, lost.jwt(nil)); status != http.StatusOK {
		t.Fatalf("before: %d %v", status, out)
	}
	if status, out := approved.execute("read_account", object{"path": "w/accounts/one"}); status != http.StatusOK {
		t.Fatalf("execute: %d %v", status, out)
	}
	c.pass(20 * time.Minute)
	before := w.venue.Visitors().Epoch()
	w.host().register(nil)
	if w.venue.Visitors().Epoch() != before {
		t.Error("the epoch moved, though nobody asked what the stray may do")
	}
	status, out := w.get("/agent/status?agent_id="+stray.id, lost.jwt(nil))
	w.want("the stray's host", status, out, 401, "invalid_jwt")
	if status, out := lost.registerKey(stray.key, object{"capabilities": []any{"read_account"}}); status != http.StatusOK || out["agent_id"] == stray.id {
		t.Errorf("it begins anew: %d %v", status, out)
	}
	if status, out := approved.execute("read_account", object{"path": "w/accounts/one"}); status != http.StatusOK {
		t.Errorf("the approved one: %d %v", status, out)
	}
}

// The owner of the configuration ends what came in, whomever it acts for, and others do not. A
// host of nobody that was ended so stays known: its key registers nothing again, also once what
// nobody approved is forgotten.
func TestOwnerEndsStrangers(t *testing.T) {
	c := newClock()
	w := visitorOpen(t, &venue.Options{Now: c.now})
	bob := w.signIn("bob")
	h := w.host()
	stray, _ := h.register(object{"capabilities": []any{"read_account"}})
	for what, body := range map[string]object{"/agent/revoke": {"agent_id": stray.id}, "/host/revoke": {"host_id": stray.was["host_id"]}} {
		if status, out := bob.post(what, body); status != http.StatusNotFound {
			t.Errorf("bob, %s: %d %v, want 404", what, status, out)
		}
	}
	if status, out := w.alice.revokeHost(stray.was["host_id"]); status != http.StatusOK || out["agents_revoked"] != 1.0 {
		t.Fatalf("the owner revokes a host: %d %v", status, out)
	}
	c.pass(31 * 24 * time.Hour)
	w.host().register(nil) // what is over is forgotten
	status, out := h.registerKey(visitorNewKey(), nil)
	w.want("once more", status, out, http.StatusForbidden, "host_revoked")
	bob, w.alice = w.signIn("bob"), w.signIn("alice")
	others := w.host()
	kept, _ := others.register(object{"capabilities": []any{"read_account"}})
	if status, out := bob.answer(object{"agent_id": kept.id, "user_code": code(kept.was), "action": "approve"}); status != http.StatusOK {
		t.Fatalf("bob approves: %d %v", status, out)
	}
	if status, out := w.alice.post("/agent/revoke", object{"agent_id": kept.id}); status != http.StatusOK {
		t.Errorf("the owner revokes bob's agent: %d %v", status, out)
	}
	status, out = kept.execute("read_account", object{"path": "w/accounts/one"})
	w.want("it executes", status, out, http.StatusForbidden, "agent_revoked")
}
