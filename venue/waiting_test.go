package venue_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"usher/runtime"
	"usher/tools/approvals"
	"usher/tools/fault"
	"usher/venue/config"
	"usher/venue/runs"
)

// What becomes of an agent whose run waits ends the run or leaves it alone: nothing hangs,
// nothing runs twice, and a request whose run is over takes no answer.
func TestTheAgentOfARunThatWaits(t *testing.T) {
	const ends, waits = "ends", "waits"
	for name, tc := range map[string]struct {
		op, input, run string
	}{
		"removed":                {"agent:delete", `{"agentId":"bob","remove":true}`, ends},
		"ended":                  {"agent:delete", `{"agentId":"bob"}`, ends},
		"made again":             {"agent:create", `{"agentId":"bob","overwrite":true,"config":{"tools":["covia:*"],"caps":[{"with":"w/","can":"crud","ask":true}]}}`, waits},
		"updated":                {"agent:update", `{"agentId":"bob","config":{"prompt":"Be quick."}}`, waits},
		"forked":                 {"agent:fork", `{"sourceId":"bob","agentId":"copy"}`, waits},
		"forked with its past":   {"agent:fork", `{"sourceId":"bob","agentId":"copy","includeTimeline":true}`, waits},
		"suspended, and resumed": {"agent:suspend", `{"agentId":"bob"}`, waits},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "", false)
			req := d.ask(t, "w/refunds/1")
			invoke(t, d.alice, tc.op, tc.input)
			if tc.op == "agent:suspend" {
				invoke(t, d.alice, "agent:resume", `{"agentId":"bob"}`)
			}
			if tc.op == "agent:fork" {
				copied := agentOf(t, d.alice, "copy")
				if _, err := turnIn(t.Context(), copied, "main", "hello"); err != nil {
					t.Errorf("the copy takes no turn: %v", err)
				}
			}
			_, err := d.alice.Invoke(t.Context(), "approval:approve", map[string]string{"id": req.ID})
			if err != nil && tc.run == waits {
				t.Errorf("the request is answered with %v", err)
			}
			for _, r := range d.v.LiveRuns() {
				_, _ = r.Wait(t.Context())
			}
			for range d.alice.Events(t.Context(), req.Run, 0) { // to its end
			}
			rec, err := d.alice.Run(t.Context(), req.Run)
			if err != nil && fault.Of(err) != fault.NotFound || err == nil && !rec.Over() {
				t.Fatalf("the run is %s, %v", rec.Status, err)
			}
			want, status := `{"exists":false}`, approvals.Ended
			if tc.run == waits {
				want, status = `{"exists":true,"value":7}`, approvals.Used
			}
			if got := read(t, d.alice, "w/refunds/1"); got != want {
				t.Errorf("w/refunds/1 reads %s, want %s", got, want)
			}
			if now := d.show(t, req.ID); now.Status != status && (tc.run == waits || now.Status != approvals.Approved) {
				t.Errorf("the request is %s, want %s", now.Status, status)
			}
			if _, err := d.alice.Invoke(t.Context(), "approval:approve", map[string]string{"id": req.ID}); err == nil {
				t.Error("it is answered again")
			}
		})
	}
}

// Nothing that waits is pruned, however old it is and however many others there are.
func TestWhatWaitsIsKept(t *testing.T) {
	k := newKeeping(t, config.Retention{Sessions: config.KeepLimit{Age: 24 * time.Hour, Number: 1}, Runs: config.KeepLimit{Age: 24 * time.Hour, Number: 1}}, new(puppet))
	alice := user(t, k.Venue, "alice")
	create(t, alice, spec("bob", "", asking))
	ask := func() approvals.Request {
		t.Helper()
		p, ok := k.model.(*puppet)
		if !ok {
			t.Fatal("another model")
		}
		p.Ask("covia_write", `{"path":"w/refunds/1","value":7}`)
		_, err := turnIn(t.Context(), agentOf(t, alice, "bob"), "", "pay")
		rest, ok := errors.AsType[*runtime.RestError](err)
		if !ok {
			t.Fatalf("the turn ends with %v", err)
		}
		var req approvals.Request
		if err := json.Unmarshal([]byte(invoke(t, alice, "approval:show", `{"id":"`+rest.Waits[0].Approval+`"}`)), &req); err != nil {
			t.Fatal(err)
		}
		return req
	}
	first := ask()
	ask()
	k.pass(4)
	alice = user(t, k.Venue, "alice")
	for range 3 {
		chat(t, agentOf(t, alice, "bob"), "hello")
	}
	if _, err := k.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	invoke(t, alice, "approval:approve", `{"id":"`+first.ID+`"}`)
	for _, err := range alice.Events(t.Context(), first.Run, 0) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, alice, "w/refunds/1"); got != `{"exists":true,"value":7}` {
		t.Errorf("w/refunds/1 reads %s", got)
	}
}

// A session whose chat waits takes no other one, also of an agent and after a restart.
func TestAChatThatWaitsIsInTheWay(t *testing.T) {
	dir := t.TempDir()
	d := newDesk(t, dir, false)
	s := spec("boss", "", `[{"with":"g/","can":"agent"},{"with":"w/","can":"crud"}]`)
	create(t, d.alice, s)
	d.model.Ask("agent_message", `{"agentId":"bob","sessionId":"talk","message":"hello"}`)
	d.model.Ask("agent_chat", `{"agentId":"bob","message":"pay"}`)
	d.model.Ask("covia_write", `{"path":"w/refunds/1","value":7}`)
	_, rests := turnIn(t.Context(), agentOf(t, d.alice, "boss"), "main", "go")
	if fault.Of(rests) != fault.Waiting {
		t.Fatalf("the turn of boss ends with %v", rests)
	}
	req := d.only(t)
	_, session, _ := strings.Cut(req.Session, "~")
	again := func() {
		t.Helper()
		done := attempt(t, agentOf(t, d.alice, "boss"), d.model, "agent_chat", `{"agentId":"bob","sessionId":"`+session+`","message":"and now?"}`)
		if done.Outcome == runtime.ToolOK || !strings.Contains(done.Result, "waits") {
			t.Errorf("boss talks to bob again: %s %s", done.Outcome, done.Result)
		}
		if _, err := d.alice.Invoke(t.Context(), "agent:chat", map[string]string{"agentId": "bob", "sessionId": req.Session, "message": "and now?"}); err == nil {
			t.Error("alice talks to bob in that session")
		}
	}
	again()
	if err := d.v.Close(); err != nil {
		t.Fatal(err)
	}
	d = newDesk(t, dir, false)
	again()
	invoke(t, d.alice, "approval:approve", `{"id":"`+req.ID+`"}`)
	if rec := goesOn(t, d.v, d.alice, rests); rec.Agent != "boss" || rec.Status != runs.Complete {
		t.Errorf("the turn of %s is %s", rec.Agent, rec.Status)
	}
	if _, err := d.alice.Invoke(t.Context(), "agent:chat", map[string]string{"agentId": "bob", "sessionId": req.Session, "message": "and now?"}); err != nil {
		t.Errorf("after its answer the session takes no chat: %v", err)
	}
}
