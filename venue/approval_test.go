package venue_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"usher/runtime"
	"usher/tools"
	"usher/tools/approvals"
	"usher/tools/fault"
	"usher/venue"
	"usher/venue/runs"
)

const asking = `[{"with":"w/","can":"crud/read"},{"with":"w/refunds/","can":"crud/write","ask":true},{"with":"g/","can":"agent/request"}]`

// desk is a venue with an agent that has to ask.
type desk struct {
	v     *venue.Venue
	alice *venue.User
	bob   *venue.Agent
	model *puppet
	mu    sync.Mutex
	told  []string     // statuses of requests, as they come
	now   atomic.Int64 // s that have passed
}

func newDesk(t *testing.T, dir string, idle bool) *desk {
	t.Helper()
	return deskOf(t, venue.Options{Dir: dir, Idle: idle})
}

// deskOf is newDesk in a venue of other options.
func deskOf(t *testing.T, opts venue.Options) *desk {
	t.Helper()
	d := &desk{model: new(puppet)}
	began := time.Now()
	opts.Asked = func(r approvals.Request) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.told = append(d.told, r.Status)
	}
	opts.Models = map[string]runtime.Model{"default": d.model}
	opts.Now = func() time.Time { return began.Add(time.Duration(d.now.Load()) * time.Second) }
	d.v = open(t, &opts)
	d.alice = user(t, d.v, "alice")
	var err error
	if d.bob, err = d.alice.Agent(t.Context(), "bob"); err != nil {
		d.bob = create(t, d.alice, spec("bob", "", asking))
	}
	return d
}

// ask has bob write what he must ask about. It returns the request and the run.
func (d *desk) ask(t *testing.T, path string) approvals.Request {
	t.Helper()
	d.model.Ask("covia_write", `{"path":"`+path+`","value":7}`)
	_, err := turnIn(t.Context(), d.bob, "main", "pay")
	rest, ok := errors.AsType[*runtime.RestError](err)
	if !ok || len(rest.Waits) != 1 || rest.Waits[0].Approval == "" {
		t.Fatalf("the turn ends with %v, want that it waits for a person", err)
	}
	return d.show(t, rest.Waits[0].Approval)
}

func (d *desk) show(t *testing.T, id string) (req approvals.Request) {
	t.Helper()
	if err := json.Unmarshal([]byte(invoke(t, d.alice, "approval:show", `{"id":"`+id+`"}`)), &req); err != nil {
		t.Fatal(err)
	}
	return req
}

// ended waits for the end of a run and returns its last result and its text.
func (d *desk) ended(t *testing.T, run string) (result runtime.ToolEnd, text string) {
	t.Helper()
	for e, err := range d.alice.Events(t.Context(), run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := e.Event.(type) {
		case runtime.ToolEnd:
			result = ev
		case runtime.TurnEnd:
			text = ev.Text
		}
	}
	return result, text
}

// goesOn waits for the end of a run of owner's that ended its call with waits.
func goesOn(t *testing.T, v *venue.Venue, owner *venue.Principal, waits error) runs.Record {
	t.Helper()
	wait, ok := errors.AsType[*tools.WaitError](waits)
	if !ok {
		t.Fatalf("%v does not say which run waits", waits)
	}
	for {
		rec, err := owner.Run(t.Context(), wait.Run)
		if err != nil {
			t.Fatal(err)
		}
		if rec.Over() {
			return rec
		}
		for _, r := range v.LiveRuns() {
			_, _ = r.Wait(t.Context())
		}
	}
}

func TestApprove(t *testing.T) {
	d := newDesk(t, "", false)
	req := d.ask(t, "w/refunds/1")
	if req.Status != approvals.Pending || req.Agent != "bob" || req.Operation != "v/ops/covia/write" || string(req.Input) != `{"path":"w/refunds/1","value":7}` ||
		len(req.Needs) != 1 || req.Needs[0] != "crud/write on w/refunds/1" || !strings.Contains(req.Why, "needs the approval of a person") {
		t.Errorf("the request is %+v", req)
	}
	if rec, err := d.alice.Run(t.Context(), req.Run); err != nil || rec.Status != runs.Waiting || len(rec.Waits) != 1 || rec.Waits[0] != req.ID {
		t.Errorf("the run is %+v, %v; want that it waits for the request", rec, err)
	}
	if n := len(d.v.LiveRuns()); n != 0 {
		t.Errorf("%d runs execute while the only one waits", n)
	}
	if _, err := turnIn(t.Context(), d.bob, "main", "hello?"); fault.Of(err) != fault.Waiting {
		t.Errorf("another turn ends with %v, want that the session waits", err)
	}
	invoke(t, d.alice, "approval:approve", `{"id":"`+req.ID+`","digest":"`+req.Digest+`"}`)
	if result, _ := d.ended(t, req.Run); result.Outcome != runtime.ToolOK {
		t.Errorf("the call comes to %+v", result)
	}
	if got := read(t, d.alice, "w/refunds/1"); got != `{"exists":true,"value":7}` {
		t.Errorf("after the approval w/refunds/1 reads %s", got)
	}
	if used := d.show(t, req.ID); used.Status != approvals.Used || used.Answer.By != d.alice.DID().String() {
		t.Errorf("the request is %+v, want it USED", used)
	}
	d.mu.Lock()
	if want := []string{approvals.Pending, approvals.Approved}; !slices.Equal(d.told, want) {
		t.Errorf("the program is told %q, want %q", d.told, want)
	}
	d.mu.Unlock()
	verdicts := ""
	for row, err := range d.v.Audit(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if row.Entry != nil && row.Operation == "v/ops/covia/write" {
			verdicts += row.Verdict + " " + row.Approval + " "
		}
	}
	if want := "ask " + req.ID + " allow " + req.ID + " "; verdicts != want {
		t.Errorf("the ledger has %q, want %q", verdicts, want)
	}
}

func TestRefusedByAPerson(t *testing.T) {
	d := newDesk(t, "", false)
	req := d.ask(t, "w/refunds/1")
	invoke(t, d.alice, "approval:deny", `{"id":"`+req.ID+`","reason":"too much"}`)
	result, _ := d.ended(t, req.Run)
	if result.Outcome != runtime.ToolFailed || !strings.Contains(result.Result, `"error":"refused"`) || !strings.Contains(result.Result, "a person has refused this call: too much. Retrying the same call will not succeed.") {
		t.Errorf("the call comes to %+v", result)
	}
	if got := read(t, d.alice, "w/refunds/1"); got != `{"exists":false}` {
		t.Errorf("what was refused was written: %s", got)
	}
	if _, err := d.alice.Invoke(t.Context(), "approval:approve", map[string]string{"id": req.ID}); fault.Of(err) != fault.InvalidInput {
		t.Errorf("a refused request is approved: %v", err)
	}
}

// An approval is for one call: not twice, not for others, not for another agent, and
// not for ever.
func TestAnApprovalIsForOneCall(t *testing.T) {
	d := newDesk(t, "", false)
	first := d.ask(t, "w/refunds/1")
	invoke(t, d.alice, "approval:approve", `{"id":"`+first.ID+`"}`)
	d.ended(t, first.Run)
	again := d.ask(t, "w/refunds/1")
	if again.ID == first.ID || again.Digest == first.Digest {
		t.Errorf("the same call in another turn has the request %s of the first", again.ID)
	}
	if _, err := d.alice.Invoke(t.Context(), "approval:approve", map[string]string{"id": again.ID, "digest": first.Digest}); err == nil || !strings.Contains(err.Error(), "the digest is that of another call") {
		t.Errorf("with the digest of another call: %v", err)
	}
	if _, err := d.alice.Invoke(t.Context(), "approval:approve", map[string]string{"id": first.ID}); fault.Of(err) != fault.InvalidInput {
		t.Errorf("an approval is given twice: %v", err)
	}
	carol := user(t, d.v, "carol")
	if _, err := carol.Invoke(t.Context(), "approval:approve", map[string]string{"id": again.ID}); fault.Of(err) != fault.NotFound {
		t.Errorf("another user approves: %v", err)
	}
	for _, life := range []string{"-1m", "soon", "999999h"} {
		if _, err := d.alice.Invoke(t.Context(), "approval:approve", map[string]string{"id": again.ID, "for": life}); fault.Of(err) != fault.InvalidInput {
			t.Errorf("for %s: %v", life, err)
		}
	}
}

// No agent answers for a person, whatever it holds.
func TestAgentsDoNotApprove(t *testing.T) {
	d := newDesk(t, "", false)
	req := d.ask(t, "w/refunds/1")
	s := spec("mallory", "", `null`)
	s.Tools = []string{"approval:*", "grid:run"}
	mallory := create(t, d.alice, s)
	for _, call := range [][2]string{
		{"approval_approve", `{"id":"` + req.ID + `"}`},
		{"grid_run", `{"operation":"approval:approve","input":{"id":"` + req.ID + `"}}`},
		{"approval_deny", `{"id":"` + req.ID + `"}`},
	} {
		if done := attempt(t, mallory, d.model, call[0], call[1]); done.Outcome == runtime.ToolOK || !strings.Contains(done.Result, "an agent cannot answer for a person") {
			t.Errorf("%s: %+v", call[0], done)
		}
	}
	if now := d.show(t, req.ID); now.Status != approvals.Pending {
		t.Errorf("the request is %s", now.Status)
	}
}

// The answer to a request comes to nothing where the agent may not make the call any
// more when it goes on.
func TestApprovedAndNarrowed(t *testing.T) {
	d := newDesk(t, "", true) // runs go on when this says so
	req := d.ask(t, "w/refunds/1")
	invoke(t, d.alice, "approval:approve", `{"id":"`+req.ID+`"}`)
	invoke(t, d.alice, "agent:update", `{"agentId":"bob","config":{"caps":[{"with":"w/","can":"crud/read"}]}}`)
	if _, err := d.alice.Resume(t.Context(), req.Run); err != nil {
		t.Fatal(err)
	}
	if result, _ := d.ended(t, req.Run); result.Outcome != runtime.ToolDenied {
		t.Errorf("the call comes to %+v, want a denial", result)
	}
	if got := read(t, d.alice, "w/refunds/1"); got != `{"exists":false}` {
		t.Errorf("what was denied was written: %s", got)
	}
}

// Who wakes a run late, which waits for something else by then, changes nothing.
func TestARunThatWaitsIsWokenInVain(t *testing.T) {
	d := newDesk(t, "", true)
	req := d.ask(t, "w/refunds/1")
	if err := d.v.Wake(t.Context(), d.alice.DID(), req.Run); err != nil {
		t.Fatal(err)
	}
	if rec, err := d.alice.Run(t.Context(), req.Run); err != nil || rec.Status != runs.Waiting || len(rec.Waits) != 1 {
		t.Errorf("the run is %s and waits for %v, %v; want that it waits as before", rec.Status, rec.Waits, err)
	}
}

// An approval that is not used in time is none, and nobody's answer is a refusal.
func TestApprovalsEnd(t *testing.T) {
	d := newDesk(t, "", true)
	req := d.ask(t, "w/refunds/1")
	invoke(t, d.alice, "approval:approve", `{"id":"`+req.ID+`","for":"10m"}`)
	d.now.Add(601)
	if now := d.show(t, req.ID); now.Status != approvals.Expired {
		t.Errorf("after its time the approval is %s", now.Status)
	}
	if _, err := d.alice.Resume(t.Context(), req.Run); err != nil {
		t.Fatal(err)
	}
	d.ended(t, req.Run)
	rec, err := d.alice.Run(t.Context(), req.Run)
	if err != nil || rec.Status != runs.Waiting || rec.Waits[0] == req.ID {
		t.Errorf("the run is %+v, %v; want that it asks anew", rec, err)
	}
	next := d.show(t, rec.Waits[0])
	d.now.Add(int64((7*24*time.Hour + time.Minute) / time.Second))
	if _, err := d.alice.Invoke(t.Context(), "approval:approve", map[string]string{"id": next.ID}); fault.Of(err) != fault.InvalidInput || !strings.Contains(err.Error(), "EXPIRED") {
		t.Errorf("a request that has expired is approved: %v", err)
	}
	if _, err := d.alice.Resume(t.Context(), req.Run); err != nil {
		t.Fatal(err)
	}
	if result, _ := d.ended(t, req.Run); result.Outcome != runtime.ToolFailed || !strings.Contains(result.Result, "nobody has answered whether this call may be made") {
		t.Errorf("the call comes to %+v", result)
	}
	if got := read(t, d.alice, "w/refunds/1"); got != `{"exists":false}` {
		t.Errorf("it was written: %s", got)
	}
}

// A request outlives the venue, whoever opens it next; a run that is stopped asks no
// more.
func TestApprovalAfterARestart(t *testing.T) {
	dir := t.TempDir()
	d := newDesk(t, dir, false)
	req := d.ask(t, "w/refunds/1")
	other := ""
	for i := range 2 {
		if err := d.v.Close(); err != nil {
			t.Fatal(err)
		}
		d = newDesk(t, dir, i == 0) // idle, and then one that works
		if i == 0 {
			invoke(t, d.alice, "approval:approve", `{"id":"`+req.ID+`"}`)
			if rec, err := d.alice.Run(t.Context(), req.Run); err != nil || rec.Status != runs.Started {
				t.Errorf("in an idle venue the run is %s, %v; want it STARTED", rec.Status, err)
			}
			other = other + req.ID
		}
	}
	if result, _ := d.ended(t, req.Run); result.Outcome != runtime.ToolOK {
		t.Errorf("the call comes to %+v", result)
	}
	next := d.ask(t, "w/refunds/2")
	if err := d.alice.Stop(t.Context(), next.Run); err != nil {
		t.Fatal(err)
	}
	if rec, err := d.alice.Run(t.Context(), next.Run); err != nil || rec.Status != runs.Cancelled {
		t.Errorf("the run that was stopped is %s, %v", rec.Status, err)
	}
	if _, err := d.alice.Invoke(t.Context(), "approval:approve", map[string]string{"id": next.ID}); err == nil || !strings.Contains(err.Error(), "there is nothing to answer any more") {
		t.Errorf("the request of a run that was stopped is approved: %v", err)
	}
	if _, err := turnIn(t.Context(), d.bob, "main", "hello"); err != nil {
		t.Errorf("after the stop the session takes no turn: %v", err)
	}
}

// A call of a child of a child waits with all that wait for it.
func TestApprovalOfAGrandchild(t *testing.T) {
	o := outside{t.TempDir()}
	v := open(t, &venue.Options{Models: map[string]runtime.Model{
		"top": o.model("top", ask("agent_request", `{"agentId":"mid","input":"do it"}`)),
		"mid": o.model("mid", ask("agent_request", `{"agentId":"low","input":"do it"}`)),
		"low": o.model("low", ask("covia_write", `{"path":"w/refunds/1","value":7}`)),
	}})
	alice := user(t, v, "alice")
	for _, id := range []string{"low", "mid", "top"} {
		s := spec(id, id, asking)
		s.Tools = []string{"agent:request", "covia:write"}
		create(t, alice, s)
	}
	top, err := alice.Agent(t.Context(), "top")
	if err != nil {
		t.Fatal(err)
	}
	run, err := top.Start(t.Context(), "main", "go")
	if err != nil {
		t.Fatal(err)
	}
	_, err = run.Wait(t.Context())
	if fault.Of(err) != fault.Waiting {
		t.Fatalf("the turn of top ends with %v, want that it waits", err)
	}
	var list approvals.Listing
	if err := json.Unmarshal([]byte(invoke(t, alice, "approval:list", `{}`)), &list); err != nil || len(list.Requests) != 1 {
		t.Fatalf("the requests are %+v, %v", list, err)
	}
	req := list.Requests[0]
	if req.Agent != "low" || fmt.Sprint(req.Via) != "[top mid]" {
		t.Errorf("the request is of %s via %v", req.Agent, req.Via)
	}
	if n := len(v.LiveRuns()); n != 0 {
		t.Errorf("%d runs execute while all wait", n)
	}
	invoke(t, alice, "approval:approve", `{"id":"`+req.ID+`"}`)
	if rec := goesOn(t, v, alice, err); rec.Status != runs.Complete {
		t.Errorf("the run of top is %s: %s", rec.Status, rec.Error)
	}
	for _, id := range []string{"low", "mid", "top"} {
		if n := answersOf(t, alice, id); n != 2 {
			t.Errorf("%s was asked %d times, want twice", id, n)
		}
	}
	if got := len(o.lines(t, "asked")); got != 6 {
		t.Errorf("the models were asked %d times, want 6", got)
	}
}
