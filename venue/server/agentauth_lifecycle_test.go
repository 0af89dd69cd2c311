package server_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"usher/venue"
)

// clock is a time that a test moves on.
type clock struct{ at atomic.Int64 }

func newClock() *clock {
	c := new(clock)
	c.at.Store(time.Now().UnixNano())
	return c
}

func (c *clock) now() time.Time       { return time.Unix(0, c.at.Load()) }
func (c *clock) pass(d time.Duration) { c.at.Add(int64(d)) }

// An agent that was silent has expired: status says so, it cannot execute, and it goes on with
// the defaults alone.
func TestExpiryAndReactivation(t *testing.T) {
	c := newClock()
	w := visitorOpen(t, &venue.Options{Now: c.now})
	h := w.host()
	a := h.approved(object{"capabilities": []any{"read_account", "write_account"}})
	c.pass(50 * time.Minute)
	if status, out := a.execute("read_account", object{"path": "w/accounts/one"}); status != 200 {
		t.Fatalf("in its session: %d %v", status, out)
	}
	c.pass(50 * time.Minute)
	if status, out := a.execute("write_account", object{"path": "w/accounts/one", "value": 1}); status != 200 {
		t.Fatalf("the session slides: %d %v", status, out)
	}
	c.pass(61 * time.Minute)
	status, out := a.execute("read_account", object{"path": "w/accounts/one"})
	w.want("expired", status, out, 403, "agent_expired")
	status, out = w.post("/agent/reactivate", a.jwt(nil), object{"agent_id": a.id})
	w.want("by itself", status, out, 403, "unauthorized")
	if status, out := w.get("/agent/status?agent_id="+a.id, h.jwt(nil)); status != 200 || out["status"] != "expired" {
		t.Errorf("status: %d %v", status, out)
	}
	if status, out := w.post("/agent/reactivate", h.jwt(nil), object{"agent_id": a.id}); status != 200 || out["status"] != "active" {
		t.Fatalf("reactivate: %d %v", status, out)
	}
	if status, out := a.execute("read_account", object{"path": "w/accounts/one"}); status != 200 {
		t.Errorf("a default: %d %v", status, out)
	}
	status, out = a.execute("write_account", object{"path": "w/accounts/one", "value": 1})
	w.want("what was granted beyond", status, out, 403, "grant_revoked")
	for range 25 {
		c.pass(59 * time.Minute)
		status, out = a.execute("read_account", object{"path": "w/accounts/one"})
	}
	w.want("after a day", status, out, 403, "agent_expired")
}

// Another key takes the place of the old one at once, and the grants go on under it.
func TestRotateKeys(t *testing.T) {
	w := visitorOpen(t, nil)
	h := w.host()
	a := h.approved(object{"capabilities": []any{"read_account"}})
	next := visitorNewKey()
	status, out := w.post("/agent/rotate-key", h.jwt(nil), object{"agent_id": a.id, "public_key": next.public})
	if status != 200 {
		t.Fatalf("rotate: %d %v", status, out)
	}
	status, out = a.execute("read_account", object{"path": "w/accounts/one"})
	w.want("the old key", status, out, 401, "invalid_jwt")
	before := a.key
	a.key = next
	if status, out := a.execute("read_account", object{"path": "w/accounts/one"}); status != 200 {
		t.Errorf("the new key: %d %v", status, out)
	}
	own := visitorNewKey()
	if status, out := w.post("/agent/rotate-key", a.jwt(nil), object{"public_key": own.public}); status != 200 {
		t.Errorf("by the agent itself: %d %v", status, out)
	}
	a.key = own
	status, out = w.post("/agent/rotate-key", a.jwt(nil), object{"public_key": before.public})
	w.want("a key that was used", status, out, 400, "invalid_public_key")

	old, fresh := h.key, visitorNewKey()
	if status, out := w.post("/host/rotate-key", h.jwt(nil), object{"public_key": fresh.public}); status != 200 {
		t.Fatalf("rotate the host: %d %v", status, out)
	}
	status, out = w.get("/agent/status?agent_id="+a.id, h.jwt(nil))
	w.want("the host's old key", status, out, 401, "invalid_jwt")
	status, out = h.registerKey(visitorNewKey(), nil)
	w.want("the old key as a new host", status, out, 401, "invalid_jwt")
	h.key = fresh
	if status, out := w.get("/agent/status?agent_id="+a.id, h.jwt(nil)); status != 200 {
		t.Errorf("the host's new key: %d %v", status, out)
	}
	h.key = old
}

// A host that was revoked stays so, with all its agents, also when it registers again.
func TestRevokeHost(t *testing.T) {
	w := visitorOpen(t, nil)
	h := w.host()
	a := h.approved(object{"capabilities": []any{"read_account"}})
	b := h.approved2(object{"capabilities": []any{"read_account"}})
	if status, out := w.post("/host/revoke", h.jwt(nil), nil); status != 200 || out["status"] != "revoked" {
		t.Fatalf("revoke: %d %v", status, out)
	}
	for _, x := range []*agent{a, b} {
		status, out := x.execute("read_account", object{"path": "w/accounts/one"})
		w.want("an agent of it", status, out, 403, "agent_revoked")
	}
	_, status := h.register(nil)
	if status != http.StatusForbidden {
		t.Errorf("it registers again: %d", status)
	}
	list, err := w.alice.user.Invoke(t.Context(), "ucan:list", object{"issued": true})
	if err != nil || strings.Count(string(list), `"revoked":true`) != strings.Count(string(list), `"cid"`) {
		t.Errorf("delegations stand: %s %v", list, err)
	}
}

// approved2 registers an agent that needs nobody.
func (h *visitorHost) approved2(body object) *agent {
	h.w.Helper()
	a, status := h.register(body)
	if status != http.StatusOK || a.was["status"] != "active" {
		h.w.Fatalf("register: %d %v", status, a.was)
	}
	return a
}

// A delegation that the person revokes is a grant no more.
func TestRevokeByToken(t *testing.T) {
	w := visitorOpen(t, nil)
	a := w.host().approved(object{"capabilities": []any{"read_account", "write_account"}}, "write_account")
	status, out := a.execute("read_account", object{"path": "w/accounts/one"})
	w.want("what was not approved", status, out, 403, "capability_not_granted")
	raw, err := w.alice.user.Invoke(t.Context(), "ucan:list", object{"issued": true})
	if err != nil {
		t.Fatal(err)
	}
	_, cid, _ := strings.Cut(string(raw), `"cid":"`)
	cid, _, _ = strings.Cut(cid, `"`)
	if _, err := w.alice.user.Invoke(t.Context(), "ucan:revoke", object{"cid": cid}); err != nil {
		t.Fatal(err)
	}
	status, out = a.execute("write_account", object{"path": "w/accounts/one", "value": 1})
	w.want("after ucan:revoke", status, out, 403, "grant_revoked")
}

// Codes: five wrong ones, once, for five minutes, and dead when there is a new one.
func TestUserCodes(t *testing.T) {
	c := newClock()
	w := visitorOpen(t, &venue.Options{Now: c.now})
	h := w.host()
	a, _ := h.register(object{"capabilities": []any{"write_account"}})
	first := code(a.was)
	status, again := h.registerKey(a.key, object{"capabilities": []any{"write_account"}})
	if status != 200 || code(again) == first || again["agent_id"] != a.id {
		t.Fatalf("register again: %d %v", status, again)
	}
	bob := w.signIn("bob")
	status, out := bob.answer(object{"user_code": first, "action": "approve"})
	w.want("the old code", status, out, 403, "invalid_user_code")
	second := code(again)
	if status, out := w.alice.answer(object{"user_code": strings.ToLower(strings.ReplaceAll(second, "-", "")), "action": "approve"}); status != 200 {
		t.Fatalf("the new code: %d %v", status, out)
	}
	for range 6 { // it is no guess
		status, out = w.alice.answer(object{"user_code": second, "action": "approve"})
		w.want("a code twice", status, out, 412, "capability_request_already_resolved")
	}
	status, out = bob.answer(object{"user_code": second, "action": "approve"})
	w.want("a code that somebody else has used", status, out, 403, "invalid_user_code")

	b, _ := h.register(object{"capabilities": []any{"write_account"}})
	status, out = bob.answer(object{"user_code": code(b.was), "action": "approve"})
	w.want("a second approver", status, out, 409, "host_already_linked")
	c.pass(6 * time.Minute)
	status, out = w.alice.answer(object{"user_code": code(b.was), "action": "approve"})
	w.want("after five minutes", status, out, 403, "approval_expired")
	h.register(nil) // what is over is forgotten
	status, out = w.alice.answer(object{"user_code": second, "action": "approve"})
	w.want("a code long after it was used", status, out, 403, "invalid_user_code")

	d, _ := h.register(object{"capabilities": []any{"write_account"}})
	for range 5 {
		status, out = bob.answer(object{"user_code": "AAAA-AAAA", "agent_id": d.id, "action": "approve"})
		w.want("a wrong code", status, out, 403, "invalid_user_code")
	}
	status, out = bob.answer(object{"user_code": "AAAA-AAAA", "action": "approve"})
	w.want("a sixth", status, out, 429, "rate_limited")
	status, out = w.post("/agent/approve-capability", "", object{"user_code": code(d.was), "action": "approve"})
	w.want("nobody", status, out, 401, "unauthorized")
	w.alice.forgery = "forged"
	status, out = w.alice.answer(object{"user_code": code(d.was), "action": "approve"})
	w.want("forged", status, out, 403, "forged")
}
