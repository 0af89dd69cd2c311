package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// The whole course: discover, register, approve less than asked, execute, be refused, escalate,
// be revoked.
func TestCourse(t *testing.T) {
	w := visitorOpen(t, nil)
	status, found := w.get("/.well-known/agent-configuration", "")
	if status != http.StatusOK || found["issuer"] != w.server.URL || found["default_location"] != w.server.URL+"/capability/execute" {
		t.Fatalf("discover: %d %v", status, found)
	}
	for name, at := range found["endpoints"].(object) {
		if !strings.HasPrefix(at.(string), w.server.URL+"/") {
			t.Errorf("endpoint %s is %v: not absolute", name, at)
		}
	}
	h := w.host()
	a, status := h.register(object{"capabilities": []any{"read_account", object{"name": "write_account", "constraints": object{"value": object{"max": 100}}}}, "reason": "bookkeeping"})
	if status != http.StatusOK || a.was["status"] != "pending" {
		t.Fatalf("register: %d %v", status, a.was)
	}
	status, out := a.execute("read_account", object{"path": "w/accounts/one"})
	w.want("execute while pending", status, out, 403, "agent_pending")
	// less than it asked: value at most 10
	status, out = w.alice.answer(object{"user_code": code(a.was), "agent_id": a.id, "action": "approve", "capabilities": []any{
		"read_account", object{"name": "write_account", "constraints": object{"value": object{"max": 10}}},
	}})
	if status != http.StatusOK {
		t.Fatalf("approve: %d %v", status, out)
	}
	if status, out := w.get("/agent/status?agent_id="+a.id, h.jwt(nil)); status != 200 || out["status"] != "active" {
		t.Fatalf("status: %d %v", status, out)
	}
	status, out = a.execute("read_account", object{"path": "w/accounts/one"})
	if status != http.StatusOK || out["data"] == nil {
		t.Fatalf("execute: %d %v", status, out)
	}
	status, out = a.execute("read_account", object{"path": "w/secret"})
	w.want("beyond the resource", status, out, 403, "capability_denied")
	if status, out = a.execute("write_account", object{"path": "w/accounts/one", "value": 9}); status != http.StatusOK {
		t.Fatalf("write: %d %v", status, out)
	}
	status, out = a.execute("write_account", object{"path": "w/accounts/one", "value": 11})
	w.want("beyond the constraint", status, out, 403, "constraint_violated")
	if list, _ := out["violations"].([]any); len(list) != 1 {
		t.Errorf("violations: %v", out)
	}
	status, out = a.execute("careful_write", object{"path": "w/accounts/one", "value": 1})
	w.want("not granted", status, out, 403, "capability_not_granted")
	status, out = a.execute("nothing", nil)
	w.want("not there", status, out, 404, "capability_not_found")

	status, asked := w.post("/agent/request-capability", a.jwt(nil), object{"capabilities": []any{"careful_write"}})
	if status != 200 || asked["approval"] == nil {
		t.Fatalf("escalate: %d %v", status, asked)
	}
	status, out = w.alice.answer(object{"user_code": code(asked), "action": "approve"})
	if status != http.StatusOK || out["status"] != "approved" { // she has just signed in
		t.Errorf("approve what takes a session: %d %v", status, out)
	}
	// the token is the person's, and shows in their list
	list, err := w.alice.user.Invoke(t.Context(), "ucan:list", object{"issued": true})
	if err != nil || !strings.Contains(string(list), "w/accounts") {
		t.Errorf("ucan:list = %s, %v", list, err)
	}
	if status, out = w.post("/agent/revoke", h.jwt(nil), object{"agent_id": a.id}); status != 200 {
		t.Fatalf("revoke: %d %v", status, out)
	}
	status, out = a.execute("read_account", object{"path": "w/accounts/one"})
	w.want("revoked", status, out, 403, "agent_revoked")
}

func TestAsyncAndStream(t *testing.T) {
	w := visitorOpen(t, nil)
	a := w.host().approved(object{"capabilities": []any{"read_slowly", "read_stream"}})
	token := a.jwt(object{"aud": w.server.URL + "/capability/execute"})
	status, out := w.post("/capability/execute", token, object{"capability": "read_slowly", "arguments": object{"path": "w/accounts/one"}})
	if status != http.StatusAccepted {
		t.Fatalf("async: %d %v", status, out)
	}
	at := strings.TrimPrefix(out["status_url"].(string), w.server.URL)
	for end := time.Now().Add(20 * time.Second); ; {
		// the same JWT, as the published client sends it
		if status, out = w.get(at, token); status != http.StatusAccepted {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the job does not end")
		}
	}
	if status != 200 || out["status"] != "completed" || out["data"] == nil {
		t.Errorf("job: %d %v", status, out)
	}
	other := w.host().approved(object{"capabilities": []any{"read_slowly"}})
	status, out = w.get(at, other.jwt(nil))
	w.want("another's job", status, out, 404, "job_not_found")
	status, out = a.execute("read_stream", object{"path": "w/accounts/one"})
	text, _ := out["text"].(string)
	if status != 200 || !strings.Contains(text, "event: done") || !strings.Contains(text, "balance") {
		t.Errorf("stream: %d %s", status, text)
	}
}
