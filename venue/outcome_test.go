package venue_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"usher/runtime"
	"usher/tools"
	"usher/tools/fault"
	"usher/venue"
	"usher/venue/runs"
	"usher/venue/venuetest"
)

// doubt is a venue with a run that was stopped in the middle of a call, before another.
type doubt struct {
	v     *venue.Venue
	alice *venue.User
	bob   *venue.Agent
	model *puppet // of mallory
	told  *puppet // of bob, once it is resumed
	run   string
}

func (d *doubt) open(t *testing.T, dir string, o outside, hang *valve) {
	t.Helper()
	d.model, d.told = new(puppet), &puppet{Gossip: true}
	d.v = open(t, &venue.Options{Dir: dir, Tools: []*tools.Operation{hang.tool()}, Models: map[string]runtime.Model{
		"default": d.model, "gossip": d.told,
		"bob": o.model("bob", ask("covia_write", `{"path":"w/a","value":1}`), ask("test_valve", `{"after":"lunch"}`, "agent_suspend", `{"agentId":"bob"}`)),
	}})
	d.alice = user(t, d.v, "alice")
}

func newDoubt(t *testing.T, dir string) *doubt {
	t.Helper()
	d, hang := new(doubt), newValve()
	d.open(t, dir, outside{t.TempDir()}, hang)
	s := spec("bob", "bob", `[{"with":"","can":"invoke"},{"with":"w/","can":"crud"},{"with":"g/","can":"agent/manage"}]`)
	s.Tools = []string{"covia:write", "test:valve", "agent:suspend"}
	d.bob = create(t, d.alice, s)
	r, err := d.bob.Start(t.Context(), "main", "go")
	if err != nil {
		t.Fatal(err)
	}
	<-hang.came
	d.run = r.ID()
	if err := d.alice.Stop(t.Context(), d.run); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *doubt) say(t *testing.T, u *venue.User, run, call, outcome string) error {
	t.Helper()
	_, err := u.Invoke(t.Context(), "grid:jobOutcome", map[string]string{"id": run, "call": call, "outcome": outcome, "note": "the till says so"})
	return err
}

func (d *doubt) openCalls(t *testing.T, run string) []runs.OpenCall {
	t.Helper()
	open, err := d.alice.OpenCalls(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	return open
}

// noted counts what the ledger has of the owner's word.
func (d *doubt) noted(t *testing.T) (n int) {
	t.Helper()
	for row, err := range d.v.Audit(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if row.Note == "outcome said" {
			n++
			if want := fmt.Sprintf(`{"by":%q,"outcome":"happened"`, d.alice.DID()); !strings.HasPrefix(string(row.Detail), want) || !strings.Contains(string(row.Detail), `"note":"the till says so"`) {
				t.Errorf("the ledger notes %s, want %s", row.Detail, want)
			}
		}
	}
	return n
}

func TestThePersonSaysWhatCameOfACall(t *testing.T) {
	dir := t.TempDir()
	d := newDoubt(t, dir)
	open := d.openCalls(t, d.run)
	if len(open) != 2 || open[0].ID != "c0" || open[0].Operation != "" && open[0].Operation != "v/ops/test/valve" || open[0].Arguments != `{"after":"lunch"}` || !open[0].IsUnknown() ||
		open[1].ID != "c1" || open[1].Name != "agent_suspend" || open[1].IsUnknown() {
		t.Fatalf("the open calls are %+v", open)
	}
	s := spec("mallory", "", `null`)
	mallory := create(t, d.alice, s)
	input := `{"id":"` + d.run + `","call":"c0","outcome":"happened"}`
	for tool, input := range map[string]string{"grid_jobOutcome": input, "grid_run": `{"operation":"grid:jobOutcome","input":` + input + `}`} {
		if done := attempt(t, mallory, d.model, tool, input); done.Outcome == runtime.ToolOK || !strings.Contains(done.Result, "only the owner in person") {
			t.Errorf("an agent by %s: %s %s", tool, done.Outcome, done.Result)
		}
	}
	for name, tt := range map[string]struct {
		by        *venue.User
		run, call string
		code      fault.Code
	}{
		"a stranger":       {user(t, d.v, "carol"), d.run, "c0", fault.NotFound},
		"of no run":        {d.alice, "01J", "c0", fault.NotFound},
		"of no call":       {d.alice, d.run, "c9", fault.NotFound},
		"of a known call":  {d.alice, d.run, "call_1_0", fault.NotFound},
		"of the run":       {d.alice, d.run, "", fault.NotFound},
		"of one not begun": {d.alice, d.run, "c1", fault.InTheWay},
	} {
		if err := d.say(t, tt.by, tt.run, tt.call, "happened"); fault.Of(err) != tt.code {
			t.Errorf("%s: %v, want %s", name, err, tt.code)
		}
	}
	if _, err := d.alice.Invoke(t.Context(), "grid:jobOutcome", map[string]string{"id": d.run, "call": "c0", "outcome": "failed", "note": strings.Repeat("x", 5000)}); fault.Of(err) != fault.TooLarge {
		t.Errorf("a note of 5000 bytes: %v", err)
	}
	if n := d.noted(t); n != 0 {
		t.Errorf("the ledger has %d words of nobody", n)
	}

	// Of many at once one says it, and nobody after a restart.
	var work sync.WaitGroup
	var took atomic.Int32
	for range 8 {
		work.Go(func() {
			if d.say(t, d.alice, d.run, "c0", "happened") == nil {
				took.Add(1)
			}
		})
	}
	work.Wait()
	if took.Load() != 1 || d.noted(t) != 1 {
		t.Errorf("it was said %d times, and is %d times in the ledger; want once", took.Load(), d.noted(t))
	}
	for range 2 {
		if err := d.say(t, d.alice, d.run, "c0", "failed"); fault.Of(err) != fault.InTheWay {
			t.Errorf("it is said again: %v", err)
		}
		if said := d.openCalls(t, d.run)[0].Said; said == nil || said.Outcome != runtime.Happened || said.By != d.alice.DID().String() || said.Note != "the till says so" {
			t.Errorf("the run shows %+v", said)
		}
		if err := d.v.Close(); err != nil {
			t.Fatal(err)
		}
		d.open(t, dir, outside{t.TempDir()}, newValve())
	}

	// The next turn hears it as the owner's word, once.
	invoke(t, d.alice, "agent:update", `{"agentId":"bob","config":{"model":"gossip"}}`)
	bob := agentOf(t, d.alice, "bob")
	want := "[Of a call whose effect was unknown, the owner (" + d.alice.DID().String() + ") says: it took effect.]\n> test_valve {\"after\":\"lunch\"}\n[The owner's note:]\n> the till says so"
	for n := range 2 { // the second time also in the model's own first answer
		if heard, err := venuetest.Answer(t.Context(), bob, "and now?"); err != nil || strings.Count(heard, want) != n+1 {
			t.Errorf("it heard %s, %v; want once %s", heard, err, want)
		}
	}
	if err := d.say(t, d.alice, d.run, "c0", "failed"); fault.Of(err) != fault.InTheWay {
		t.Errorf("it is said again: %v", err)
	}
}

// A job that is one call is spoken of as a whole.
func TestThePersonSaysWhatCameOfAJob(t *testing.T) {
	w := openWorks(t)
	d := &doubt{v: w.Venue, alice: w.User}
	id, err := w.Start(t.Context(), "test:valve", map[string]string{})
	if err != nil {
		t.Fatal(err)
	}
	<-w.valve.came
	if open := d.openCalls(t, id); len(open) != 0 {
		t.Errorf("a job that runs has the open calls %+v", open)
	}
	if err := d.say(t, w.User, id, "", "happened"); fault.Of(err) != fault.NotFound {
		t.Errorf("of a job that runs: %v", err)
	}
	if err := w.Stop(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if open := d.openCalls(t, id); len(open) != 1 || open[0].ID != id || open[0].Operation != "v/ops/test/valve" || open[0].Said != nil {
		t.Fatalf("the open calls are %+v", open)
	}
	if err := d.say(t, w.User, id, "", "happened"); err != nil {
		t.Fatal(err)
	}
	if open := d.openCalls(t, id); open[0].Said == nil || d.noted(t) != 1 {
		t.Errorf("the open calls are %+v, and the ledger notes %d", open, d.noted(t))
	}
	if err := d.say(t, w.User, id, id, "failed"); fault.Of(err) != fault.InTheWay {
		t.Errorf("it is said again: %v", err)
	}
	done, err := w.Start(t.Context(), "covia:read", map[string]string{"path": "w/a"})
	if err != nil {
		t.Fatal(err)
	}
	w.ended(t, done)
	if err := d.say(t, w.User, done, "", "failed"); fault.Of(err) != fault.NotFound {
		t.Errorf("of a job whose outcome is known: %v", err)
	}
}

// What is left for the next turn says nothing of the turn that rests.
func TestAMessageLeavesTheTurnThatRestsAlone(t *testing.T) {
	dir := t.TempDir()
	d := newDesk(t, dir, false)
	if _, err := turnIn(t.Context(), d.bob, "main", "hello"); err != nil {
		t.Fatal(err)
	}
	if err := d.v.Close(); err != nil { // so that the session is read anew, with that turn as its past
		t.Fatal(err)
	}
	d = newDesk(t, dir, false)
	req := d.ask(t, "w/refunds/1")
	invoke(t, d.alice, "agent:message", `{"agentId":"bob","message":"hurry"}`)
	if _, err := turnIn(t.Context(), d.bob, "main", "hello?"); fault.Of(err) != fault.Waiting {
		t.Errorf("another turn ends with %v, want that the session waits", err)
	}
	if rec, err := d.alice.Run(t.Context(), req.Run); err != nil || rec.Status != runs.Waiting {
		t.Errorf("the turn that rests is %s, %v", rec.Status, err)
	}
	invoke(t, d.alice, "approval:approve", `{"id":"`+req.ID+`"}`)
	if result, _ := d.ended(t, req.Run); result.Outcome != runtime.ToolOK {
		t.Errorf("the call comes to %+v", result)
	}
}
