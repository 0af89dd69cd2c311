package server_test

import (
	"net/http"
	"strings"
	"testing"

	"usher/runtime"
	"usher/tools/fault"
	"usher/venue"
	"usher/venue/config"
	"usher/venue/venuetest"
)

// What models use for agents that nobody has approved is bounded for all of them together,
// also where it is another agent that they have work, at once or as a job; whom a person has
// approved it does not bind.
func TestAutonomousBudget(t *testing.T) {
	text := strings.Replace(settings, "  capabilities:\n", `  capabilities:
    - {name: ask, operation: 'agent:chat', caps: [{with: g/Clerk, can: agent/message}]}
    - {name: ask_slowly, operation: 'agent:chat', caps: [{with: g/Clerk, can: agent/message}], answer: async}
    - {name: later, operation: 'scheduler:schedule', caps: [{with: schedules, can: schedule/create}], within: [{with: g/Clerk, can: agent/message}]}
`, 1)
	text = strings.Replace(text, "capabilities: [read_account]}", "capabilities: [read_account, ask, ask_slowly, later], budget: {calls: 2}}", 1)
	text += "agents:\n  - {id: Clerk, model: default, prompt: Answer.}\n"
	cfg, err := config.Parse("usher.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	w := visitorOpen(t, &venue.Options{Config: cfg, Models: map[string]runtime.Model{"default": venuetest.Says("hello")}})
	chat := func(a *agent) (int, object) {
		return a.execute("ask", object{"agentId": "Clerk", "message": "hello"})
	}
	one, _ := w.host().register(object{"mode": "autonomous"})
	other, _ := w.host().register(object{"mode": "autonomous"})
	for _, a := range []*agent{one, other} {
		if status, out := chat(a); status != http.StatusOK {
			t.Fatalf("within the budget: %d %v", status, out)
		}
	}
	status, out := chat(one)
	w.want("beyond the budget", status, out, http.StatusTooManyRequests, "limit_exceeded")
	third, _ := w.host().register(object{"mode": "autonomous"})
	status, out = chat(third)
	w.want("another that comes then", status, out, http.StatusTooManyRequests, "limit_exceeded")
	if status, out := third.execute("read_account", object{"path": "w/accounts/one"}); status != http.StatusOK {
		t.Errorf("what asks no model: %d %v", status, out)
	}
	status, out = third.execute("ask_slowly", object{"agentId": "Clerk", "message": "hello"})
	if status != http.StatusAccepted {
		t.Fatalf("as a job: %d %v", status, out)
	}
	path := strings.TrimPrefix(out["status_url"].(string), w.server.URL)
	for out["status"] == "pending" {
		if status, out = w.get(path, third.jwt(nil)); status != http.StatusOK && status != http.StatusAccepted {
			break
		}
	}
	failed, _ := out["error"].(object)
	if failed["code"] != "limit_exceeded" {
		t.Errorf("the job ends as %d %v", status, out)
	}
	status, out = third.execute("later", object{"operation": "agent:chat", "input": object{"agentId": "Clerk", "message": "hello"}, "name": "later", "after": "1h"})
	if status != http.StatusOK {
		t.Fatalf("by a schedule: %d %v", status, out)
	}
	fired, err := w.alice.invoke("scheduler:trigger", object{"handle": "later"})
	if err != nil {
		t.Fatal(err)
	}
	job := fired["job"].(string)
	for _, err := range w.venue.VisitorEvents(t.Context(), w.alice.user.DID(), job) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if rec, err := w.venue.VisitorRun(t.Context(), w.alice.user.DID(), job); err != nil || rec.Code != fault.BudgetSpent {
		t.Errorf("the schedule ends as %s %q, %v", rec.Status, rec.Code, err)
	}
	approved := w.host().approved(object{"capabilities": []any{"ask"}})
	if status, out := chat(approved); status != http.StatusOK {
		t.Errorf("whom a person approved: %d %v", status, out)
	}
}
