package server_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"usher/runtime"
	"usher/runtime/offline"
	"usher/tools/approvals"
	"usher/venue"
	"usher/venue/config"
)

// invoke calls an operation as a person.
func (p *visitorPerson) invoke(operation string, in object) (object, error) {
	p.w.Helper()
	raw, err := p.user.Invoke(p.w.Context(), operation, in)
	var out object
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	return out, err
}

// waits lists what waits for a person.
func (p *visitorPerson) waits() (list []object) {
	p.w.Helper()
	out, err := p.invoke("approval:list", object{})
	if err != nil {
		p.w.Fatal(err)
	}
	for _, one := range out["requests"].([]any) {
		list = append(list, one.(object))
	}
	return list
}

// What an agent asks a person for who is known stands in their approvals, who is told of it,
// and is answered there, with less where they like, once, and by nobody else.
func TestAsksStandInApprovals(t *testing.T) {
	var mu sync.Mutex
	var told []string
	w := visitorOpen(t, &venue.Options{Asked: func(r approvals.Request) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, strings.TrimPrefix(r.Operation, "agent-auth/")+" "+r.Status)
	}})
	bob := w.signIn("bob")
	h := w.host()
	h.approved(nil)
	register := func() *agent {
		a, _ := h.register(object{"capabilities": []any{"write_account", "write_again", "careful_write"}, "reason": "rent"})
		return a
	}
	only := func(list []object) object {
		if len(list) != 1 {
			t.Fatalf("%d requests wait, want 1: %v", len(list), list)
		}
		return list[0]
	}
	a := register()
	req := only(w.alice.waits())
	if req["agent"] != a.id || req["operation"] != "agent-auth/register" || req["input"].(object)["reason"] != "rent" || len(bob.waits()) != 0 {
		t.Errorf("it says %v, and to bob %v", req, bob.waits())
	}
	id := req["id"]
	for name, in := range map[string]object{
		"approved at another digest":   {"id": id, "digest": "another"},
		"without a sign-in":            {"id": id},
		"what was not asked for":       {"id": id, "only": []any{"read_account"}},
		"limits on what is not given":  {"id": id, "only": []any{"write_again"}, "when": object{"/write_account/value": 1}},
		"limits on nothing":            {"id": id, "only": []any{"write_again"}, "when": object{"/value": 1}},
		"an operator that is not read": {"id": id, "only": []any{"write_again"}, "when": object{"/write_again/value": object{"above": 1}}},
	} {
		if _, err := w.alice.invoke("approval:approve", in); err == nil {
			t.Fatalf("%s: it is approved", name)
		}
	}
	if _, err := bob.invoke("approval:approve", object{"id": id, "owner": w.alice.user.DID().String()}); err == nil {
		t.Fatal("bob approves for alice")
	}
	out, err := w.alice.invoke("approval:approve", object{"id": id, "digest": req["digest"], "only": []any{"write_account"}, "when": object{"/write_account/value": object{"max": 5}}})
	if err != nil || out["status"] != "APPROVED" {
		t.Fatalf("approve: %v %v", out, err)
	}
	if status, out := a.execute("write_account", object{"path": "w/accounts/one", "value": 5}); status != http.StatusOK {
		t.Errorf("within: %d %v", status, out)
	}
	status, out := a.execute("write_account", object{"path": "w/accounts/one", "value": 6})
	w.want("beyond", status, out, http.StatusForbidden, "constraint_violated")
	status, out = a.execute("write_again", object{"path": "w/accounts/one", "value": 1})
	w.want("what was left out", status, out, http.StatusForbidden, "capability_not_granted")
	if _, err := w.alice.invoke("approval:approve", object{"id": id}); err == nil {
		t.Error("it is approved twice")
	}

	w.post("/agent/request-capability", a.jwt(nil), object{"capabilities": []any{"write_again"}, "preferred_method": "ciba"})
	first := only(w.alice.waits())["id"]
	w.post("/agent/request-capability", a.jwt(nil), object{"capabilities": []any{"write_again"}, "preferred_method": "usher_approvals"})
	second := only(w.alice.waits())["id"]
	if _, err := w.alice.invoke("approval:approve", object{"id": first}); err == nil {
		t.Error("what the agent asks no more is approved")
	}
	if out, err := w.alice.invoke("approval:deny", object{"id": second, "reason": "no"}); err != nil || out["status"] != "DENIED" {
		t.Errorf("deny: %v %v", out, err)
	}

	c := register()
	if code(c.was) == "" {
		t.Error("it has no code beside")
	}
	page := "?request=" + only(w.alice.waits())["id"].(string)
	if _, text, _ := w.alice.see(""); !strings.Contains(text, page) {
		t.Errorf("the page does not list it: %s", text)
	}
	if _, text, _ := w.alice.see(page); !strings.Contains(text, "careful_write") || !strings.Contains(text, "While it runs it may crud on w/ledger/, too.") || !strings.Contains(text, "rent") {
		t.Errorf("the page does not show it: %s", text)
	}
	if status, text, _ := bob.see(page); status != http.StatusNotFound || strings.Contains(text, "careful_write") {
		t.Errorf("bob sees %d %s", status, text)
	}
	answer := url.Values{"request": {strings.TrimPrefix(page, "?request=")}, "action": {"approve"}, "allow": {"careful_write"}, "forgery": {bob.forgery}}
	if status, _, _ := bob.form(answer); status != http.StatusNotFound {
		t.Errorf("bob answers: %d", status)
	}
	answer.Set("forgery", w.alice.forgery)
	if status, text, _ := w.alice.form(answer); status != http.StatusOK || !strings.Contains(text, "approved 1 of 3") {
		t.Errorf("by the page, signed in just now: %d %s", status, text)
	}

	d := register()
	w.post("/agent/revoke", h.jwt(nil), object{"agent_id": d.id})
	if list := w.alice.waits(); len(list) != 0 {
		t.Errorf("of one that was revoked %v waits", list)
	}
	mu.Lock()
	defer mu.Unlock()
	want := []string{
		"register PENDING", "register APPROVED", "escalate PENDING", "escalate ENDED", "escalate PENDING", "escalate DENIED",
		"register PENDING", "register APPROVED", "register PENDING", "register ENDED",
	}
	if !slices.Equal(told, want) {
		t.Errorf("told: %q\nwant  %q", told, want)
	}
}

// A person who approves nothing of what is asked for has approved nothing, by whichever way they say so.
func TestApprovalOfNothing(t *testing.T) {
	w := visitorOpen(t, nil)
	h := w.host()
	h.approved(nil)
	a, _ := h.register(object{"capabilities": []any{"write_account"}})
	id := w.alice.waits()[0]["id"].(string)
	status, out := w.alice.answer(object{"approval_id": id, "action": "approve", "capabilities": []any{}})
	w.want("an empty list", status, out, http.StatusBadRequest, "invalid_request")
	status, out = w.alice.answer(object{"agent_id": a.id, "user_code": code(a.was), "action": "approve", "capabilities": []any{"read_account"}})
	w.want("another name, by the code", status, out, http.StatusBadRequest, "invalid_request")
	if _, err := w.alice.invoke("approval:approve", object{"id": id, "only": []any{}}); err == nil || !strings.Contains(err.Error(), "deny the request") {
		t.Errorf("an empty list as an operation: %v", err)
	}
	form := url.Values{"request": {id}, "action": {"approve"}, "forgery": {w.alice.forgery}}
	if status, text, _ := w.alice.form(form); status != http.StatusBadRequest || !strings.Contains(text, "deny the request") {
		t.Errorf("the page without a tick: %d %s", status, text)
	}
	if _, out := w.get("/agent/status?agent_id="+a.id, h.jwt(nil)); out["status"] != "pending" {
		t.Errorf("the agent is %v", out)
	}
	if out, err := w.alice.invoke("approval:approve", object{"id": id, "only": []any{"write_account"}}); err != nil || out["status"] != "APPROVED" {
		t.Errorf("what was asked for: %v %v", out, err)
	}
}

// The agents of one host fill no more of a person's approvals than one agent of theirs may. Who
// has a code to show does without.
func TestAHostFillsNoApprovals(t *testing.T) {
	w := visitorOpen(t, &venue.Options{Limits: config.Limits{Approvals: 8}})
	h := w.host()
	h.approved(nil)
	own, coded := object{"capabilities": []any{"write_account"}, "preferred_method": "usher_approvals"}, object{"capabilities": []any{"write_account"}}
	for range 2 {
		if a, status := h.register(own); status != http.StatusOK {
			t.Fatalf("register: %d %v", status, a.was)
		}
	}
	a, status := h.register(own)
	w.want("a third", status, a.was, http.StatusTooManyRequests, "limit_exceeded")
	a, status = h.register(coded)
	if list := w.alice.waits(); status != http.StatusOK || code(a.was) == "" || len(list) != 2 {
		t.Fatalf("a third with a code: %d %v, and %d wait", status, a.was, len(list))
	}
	if status, out := w.alice.answer(object{"user_code": code(a.was), "action": "approve"}); status != http.StatusOK {
		t.Errorf("its code: %d %v", status, out)
	}
	other := w.host()
	other.approved(nil)
	if a, status := other.register(own); status != http.StatusOK || len(w.alice.waits()) != 3 {
		t.Errorf("of another host: %d %v", status, a.was)
	}
}

// What nobody needs any more makes room for what an agent from elsewhere asks.
func TestRequestsOfStoppedRunsMakeRoom(t *testing.T) {
	c, err := config.Parse("usher.yaml", []byte(settings+`
limits: {approvals: 1}
agents:
  - {id: clerk, tools: ['covia:write'], caps: [{with: w/notes, can: crud, ask: true}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	w := visitorOpen(t, &venue.Options{Config: c, Models: map[string]runtime.Model{"default": offline.Model{}}})
	h := w.host()
	h.approved(nil)
	asks := func() int {
		_, status := h.register(object{"capabilities": []any{"write_account"}, "preferred_method": "ciba"})
		return status
	}
	clerk, err := w.alice.user.Agent(t.Context(), "clerk")
	if err != nil {
		t.Fatal(err)
	}
	var rest *runtime.RestError
	for _, err := range clerk.Chat(t.Context(), "write w/notes/a 1") {
		if err != nil && !errors.As(err, &rest) {
			t.Fatal(err)
		}
	}
	if rest == nil {
		t.Fatal("the clerk asks nobody")
	}
	if status := asks(); status != http.StatusTooManyRequests {
		t.Fatalf("while as much waits as may: %d, want 429", status)
	}
	raw, err := w.alice.user.Invoke(t.Context(), "approval:list", object{})
	if err != nil {
		t.Fatal(err)
	}
	var list approvals.Listing
	if err := json.Unmarshal(raw, &list); err != nil || len(list.Requests) != 1 {
		t.Fatalf("%s: %v", raw, err)
	}
	if err := w.alice.user.Stop(t.Context(), list.Requests[0].Run); err != nil {
		t.Fatal(err)
	}
	if status := asks(); status != http.StatusOK {
		t.Errorf("once its run was stopped: %d, want 200", status)
	}
}
