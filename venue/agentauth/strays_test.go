package agentauth_test

import (
	"net/http"
	"testing"
	"time"

	"usher/venue"
)

// What nobody approved within an hour is forgotten, with its host; what somebody did stays.
func TestStraysAreForgotten(t *testing.T) {
	c := newClock()
	w := open(t, &venue.Options{Now: c.now})
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
