package venue_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"usher/runtime"
	"usher/tools/agents"
	"usher/tools/approvals"
	"usher/venue"
	"usher/venue/config"
)

// askIn has an agent make a call in a session that it must ask about. It returns the
// request, or else what the call came to.
func (d *desk) askIn(t *testing.T, a *venue.Agent, session string) (id, result string) {
	t.Helper()
	d.model.Ask("covia_write", `{"path":"w/refunds/1","value":7}`)
	events, err := turnIn(t.Context(), a, session, "pay")
	if rest, rests := errors.AsType[*runtime.RestError](err); rests {
		return rest.Waits[0].Approval, ""
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, done := range events {
		result = done.Result
	}
	return "", result
}

// As many calls of a person wait as may, and of one agent a quarter of them; what is
// answered, or stopped, makes room.
func TestApprovalsAreBounded(t *testing.T) {
	d := deskOf(t, venue.Options{Limits: config.Limits{Approvals: 8}})
	pending := make(map[string]string)
	for _, id := range []string{"a1", "a2", "a3", "a4", "a5"} {
		a := create(t, d.alice, spec(id, "", asking))
		for n := range 3 {
			req, result := d.askIn(t, a, fmt.Sprint("s", n))
			want := ""
			switch {
			case id == "a5":
				want = "8 calls wait for a person, as many as may, so nobody is asked about this one: have some answered, or raise limits.approvals"
			case n == 2:
				want = "2 calls of agent " + id + " wait for a person, as many as may"
			}
			if (req == "") != (want != "") || !strings.Contains(result, want) {
				t.Errorf("call %d of %s: request %q, result %s; want %q", n, id, req, result, want)
			}
			if want != "" && !strings.Contains(result, `"error":"refused"`) {
				t.Errorf("call %d of %s: the model is told %s", n, id, result)
			}
			pending[fmt.Sprint(id, n)] = req
		}
	}
	a1, err := d.alice.Agent(t.Context(), "a1")
	if err != nil {
		t.Fatal(err)
	}
	stopped := d.show(t, pending["a11"])
	if err := d.alice.Stop(t.Context(), stopped.Run); err != nil {
		t.Fatal(err)
	}
	if now := d.show(t, stopped.ID); now.Status != approvals.Ended {
		t.Errorf("the request of a run that was stopped is %s", now.Status)
	}
	if req, result := d.askIn(t, a1, "s3"); req == "" {
		t.Errorf("what was stopped makes no room: %s", result)
	}
	invoke(t, d.alice, "approval:deny", `{"id":"`+pending["a10"]+`"}`)
	d.ended(t, d.show(t, pending["a10"]).Run) // the next call is not its model's
	if req, result := d.askIn(t, a1, "s4"); req == "" {
		t.Errorf("what was answered makes no room: %s", result)
	}
	if got := read(t, d.alice, "w/refunds/1"); got != `{"exists":false}` {
		t.Errorf("what nobody allowed was written: %s", got)
	}
}

// A request that is over goes when the configuration says so, with all its rows; what
// waits stays.
func TestPrunedApprovalsLeaveNoRows(t *testing.T) {
	d := deskOf(t, venue.Options{Retention: config.Retention{Approvals: config.KeepLimit{Age: time.Hour}}})
	var runs []string
	for i, answer := range []string{"approve", "deny", "", ""} {
		id, _ := d.askIn(t, d.bob, fmt.Sprint("s", i))
		req := d.show(t, id)
		runs = append(runs, req.Run)
		switch {
		case answer != "":
			invoke(t, d.alice, "approval:"+answer, `{"id":"`+id+`"}`)
			d.ended(t, req.Run)
		case i == 2:
			if err := d.alice.Stop(t.Context(), req.Run); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tc := range []struct {
		name string
		pass time.Duration
		want int // that go
	}{{"before their time", 0, 0}, {"after it", 2 * time.Hour, 3}} {
		d.now.Add(int64(tc.pass / time.Second))
		gone, err := d.v.Prune(t.Context())
		if err != nil || gone.Approvals != tc.want {
			t.Errorf("%s: %d requests go, %v; want %d", tc.name, gone.Approvals, err, tc.want)
		}
	}
	for below, want := range map[string]int{"p/req/": 1, "p/call/": 1, "p/at/": 1, "p/open/": 1, "p/due/": 1, "p/count/": 1} {
		if n, err := d.v.KeysBelow(t.Context(), below); err != nil || n != want {
			t.Errorf("%s has %d rows, %v; want %d", below, n, err, want)
		}
	}
	last := d.only(t)
	invoke(t, d.alice, "approval:approve", `{"id":"`+last.ID+`"}`)
	if result, _ := d.ended(t, runs[3]); result.Outcome != runtime.ToolOK {
		t.Errorf("the request that stayed comes to %+v", result)
	}
}

// What a run asked about from no place of its own ends with the run, and the next run
// asks anew.
func TestRequestsEndWithTheirRun(t *testing.T) {
	d := newDesk(t, "", true)
	s := spec("clerk", "", `[{"with":"w/","can":"crud/read","ask":true}]`)
	s.Context = []agents.ContextEntry{{Path: "w/policy"}}
	clerk := create(t, d.alice, s)
	var ids []string
	for n := range 2 {
		if _, err := turnIn(t.Context(), clerk, fmt.Sprint("s", n), "go"); err != nil {
			t.Fatal(err)
		}
		var list approvals.Listing
		if err := json.Unmarshal([]byte(invoke(t, d.alice, "approval:list", `{"all":true}`)), &list); err != nil || len(list.Requests) != n+1 {
			t.Fatalf("turn %d: %+v, %v", n, list, err)
		}
		req := list.Requests[n]
		if ids = append(ids, req.ID); req.Status != approvals.Ended {
			t.Errorf("the request of turn %d is %s", n, req.Status)
		}
		if _, err := d.alice.Invoke(t.Context(), "approval:approve", map[string]string{"id": req.ID}); err == nil || !strings.Contains(err.Error(), "there is nothing to answer any more") {
			t.Errorf("it is approved: %v", err)
		}
	}
	if invoke(t, d.alice, "approval:list", `{}`) != `{"requests":[]}` {
		t.Error("requests of runs that are over are listed as waiting")
	}
	if ids[0] == ids[1] {
		t.Error("two turns have one request")
	}
}

// A request that has expired is told once its run was woken.
func TestExpiredApprovalsAreTold(t *testing.T) {
	d := newDesk(t, "", true)
	req := d.ask(t, "w/refunds/1")
	d.now.Add(int64(8 * 24 * time.Hour / time.Second))
	if err := d.v.Expire(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.told, []string{approvals.Pending, approvals.Expired}) {
		t.Errorf("the program is told %q", d.told)
	}
	for _, below := range []string{"p/open/", "p/due/"} {
		if n, err := d.v.KeysBelow(t.Context(), below); err != nil || n != 0 {
			t.Errorf("%s has %d rows, %v", below, n, err)
		}
	}
	if rec, err := d.alice.Run(t.Context(), req.Run); err != nil || rec.Status != "STARTED" {
		t.Errorf("the run is %s, %v; want that it goes on", rec.Status, err)
	}
}
