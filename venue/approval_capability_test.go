package venue_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"usher/runtime"
	"usher/tools/approvals"
	"usher/tools/fault"
	"usher/venue"
	"usher/venue/config"
)

// clerk is an agent that may read, and asks for what it lacks where asks says so.
func (d *desk) clerk(t *testing.T, asks bool) *venue.Agent {
	t.Helper()
	s := spec("clerk", "", `[{"with":"w/","can":"crud/read"},{"with":"w/vault/","can":"crud","deny":true}]`)
	s.Tools, s.Ask = []string{"covia:*", "agent:*", "grid:*"}, &asks
	return create(t, d.alice, s)
}

// lacks has an agent make a call that it may not make, and returns the request for what
// it lacks; "" where it is denied.
func (d *desk) lacks(t *testing.T, a *venue.Agent, session, path string) (req approvals.Request) {
	t.Helper()
	d.model.Ask("covia_write", `{"path":"`+path+`","value":7}`)
	_, err := turnIn(t.Context(), a, session, "go")
	if rest, rests := errors.AsType[*runtime.RestError](err); rests {
		return d.show(t, rest.Waits[0].Approval)
	}
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// What an agent lacks it asks for, where it is to: allowed, it has exactly that in this
// run, and in no other.
func TestAskForACapability(t *testing.T) {
	d := newDesk(t, "", true)
	clerk := d.clerk(t, true)
	req := d.lacks(t, clerk, "main", "w/notes/1")
	if req.Grants != "crud/write on w/notes/1" || req.Status != approvals.Pending {
		t.Fatalf("the request is %+v", req)
	}
	invoke(t, d.alice, "approval:approve", `{"id":"`+req.ID+`","for":"1h"}`)
	d.model.Ask("covia_write", `{"path":"w/notes/1","value":8}`) // the same capability again
	d.model.Ask("covia_write", `{"path":"w/notes/2","value":8}`) // another one
	waits, result := d.goOn(t, req.Run)
	if len(waits) != 1 || waits[0] == req.ID {
		t.Fatalf("the run waits for %v, its call comes to %s; want another request", waits, result)
	}
	if got := read(t, d.alice, "w/notes/1"); got != `{"exists":true,"value":8}` {
		t.Errorf("w/notes/1 reads %s", got)
	}
	if systems := d.model.Systems(); !strings.Contains(systems[len(systems)-1], "## Granted to you for this task") || !strings.Contains(systems[len(systems)-1], "- crud/write on w/notes/1 until ") || strings.Contains(systems[0], "Granted to you") {
		t.Errorf("the prompt is %s", systems[len(systems)-1])
	}
	invoke(t, d.alice, "approval:deny", `{"id":"`+waits[0]+`","reason":"enough"}`)
	if waits, result := d.goOn(t, req.Run); waits != nil || !strings.Contains(result, `"error":"capability_denied"`) || !strings.Contains(result, "A person was asked for it and has refused it: enough.") {
		t.Errorf("the run waits for %v, its call comes to %s", waits, result)
	}
	if info := invoke(t, d.alice, "agent:info", `{"agentId":"clerk"}`); strings.Contains(info, "w/notes") {
		t.Errorf("the agent holds what it was granted: %s", info)
	}
	if again := d.lacks(t, clerk, "other", "w/notes/1"); again.ID == "" || again.ID == req.ID {
		t.Errorf("in another run the request is %q", again.ID)
	}
	rows := ""
	for row, err := range d.v.Audit(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if row.Entry != nil && row.Operation == "v/ops/covia/write" {
			rows += row.Verdict
			if row.Approval == req.ID {
				rows += "*"
			}
			rows += " "
		}
	}
	if want := "ask* allow* allow* ask deny ask "; rows != want {
		t.Errorf("the ledger has %q, want %q", rows, want)
	}
}

// Nobody is asked for what the agent is not to ask for, and what is denied expressly stays
// denied.
func TestNobodyIsAskedForACapability(t *testing.T) {
	for name, tc := range map[string]struct {
		asks bool
		path string
	}{"the agent is not to ask": {false, "w/notes/1"}, "denied expressly": {true, "w/vault/1"}} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "", true)
			if req := d.lacks(t, d.clerk(t, tc.asks), "main", tc.path); req.ID != "" {
				t.Errorf("a person is asked: %+v", req)
			}
		})
	}
}

// Who is asked for a part of what a call lacks is told of the rest; where nobody can give that,
// nobody is asked.
func TestWhatACallLacksBeside(t *testing.T) {
	for to, want := range map[string]string{
		"w/notes/1": "The call is still denied without crud/write on w/notes/1, which is asked for next.",
		"w/vault/1": "",
	} {
		t.Run(to, func(t *testing.T) {
			d := newDesk(t, "", true)
			asks := true
			s := spec("clerk", "", `[{"with":"w/mine/","can":"crud"},{"with":"w/vault/","can":"crud","deny":true}]`)
			s.Tools, s.Ask = []string{"covia:*"}, &asks
			invoke(t, d.alice, "covia:write", `{"path":"w/other/1","value":7}`)
			d.model.Ask("covia_copy", `{"from":"w/other/1","to":"`+to+`"}`)
			_, err := turnIn(t.Context(), create(t, d.alice, s), "main", "go")
			rest, rests := errors.AsType[*runtime.RestError](err)
			if rests != (want != "") {
				t.Fatalf("the turn comes to %v, want that a person is asked: %v", err, want != "")
			}
			if !rests {
				return
			}
			first := d.show(t, rest.Waits[0].Approval)
			if first.Grants != "crud/read on w/other/1" || !strings.HasSuffix(first.Why, want) {
				t.Errorf("the person is asked %+v", first)
			}
			invoke(t, d.alice, "approval:approve", `{"id":"`+first.ID+`"}`)
			waits, result := d.goOn(t, first.Run)
			if len(waits) != 1 {
				t.Fatalf("the run waits for %v, its call comes to %s", waits, result)
			}
			if second := d.show(t, waits[0]); second.Grants != "crud/write on w/notes/1" || strings.Contains(second.Why, "still denied") {
				t.Errorf("then the person is asked %+v", second)
			}
		})
	}
}

// What is granted ends: with its time, with whoever is suspended, and never lets an agent
// hand it on.
func TestAGrantedCapabilityEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		between    func(d *desk)
		tool, args string
		want       string
	}{
		"not yet":       {func(*desk) {}, "covia_write", `{"path":"w/notes/1","value":8}`, `"written":true`},
		"with time":     {func(d *desk) { d.now.Add(3601) }, "covia_write", `{"path":"w/notes/1","value":8}`, "A person has granted it for a time, which is over."},
		"suspended":     {func(d *desk) { invoke(t, d.alice, "agent:suspend", `{"agentId":"clerk"}`) }, "covia_write", `{"path":"w/notes/1","value":8}`, `"error":"capability_denied"`},
		"to another":    {func(*desk) {}, "agent_create", `{"agentId":"kid","config":{"caps":[{"with":"w/notes/1","can":"crud/write"}]}}`, `"error":"capability_denied"`},
		"wider than it": {func(*desk) {}, "covia_write", `{"path":"w/notes","value":8}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "", true)
			req := d.lacks(t, d.clerk(t, true), "main", "w/notes/1")
			invoke(t, d.alice, "approval:approve", `{"id":"`+req.ID+`","for":"1h"}`)
			d.model.Between(func() { tc.between(d) })
			d.model.Ask(tc.tool, tc.args)
			waits, result := d.goOn(t, req.Run)
			if (tc.want == "") != (len(waits) == 1) || !strings.Contains(result, tc.want) {
				t.Errorf("the run waits for %v, its call comes to %s; want %q", waits, result, tc.want)
			}
		})
	}
}

// Calls side by side wait for one request, also over a restart, and its answer leaves no
// row when it is pruned.
func TestOneRequestForACapability(t *testing.T) {
	dir := t.TempDir()
	d := newDesk(t, dir, true)
	clerk := d.clerk(t, true)
	d.model.Ask("grid_run", `{"operation":"covia:write","input":{"path":"w/notes/1","value":7}}`)
	if _, err := turnIn(t.Context(), clerk, "jobs", "go"); err != nil && fault.Of(err) != fault.Waiting {
		t.Fatal(err)
	}
	req := d.lacks(t, clerk, "main", "w/notes/1")
	for range 2 {
		if err := d.v.Close(); err != nil {
			t.Fatal(err)
		}
		d = deskOf(t, venue.Options{Dir: dir, Idle: true, Retention: config.Retention{Approvals: config.KeepLimit{Age: time.Hour}}})
		if now := d.show(t, req.ID); now.Status == approvals.Pending {
			invoke(t, d.alice, "approval:approve", `{"id":"`+req.ID+`","for":"30m"}`)
		}
	}
	if waits, result := d.goOn(t, req.Run); waits != nil || !strings.Contains(result, `"written":true`) {
		t.Errorf("the run waits for %v, its call comes to %s", waits, result)
	}
	if now := d.show(t, req.ID); now.Status != approvals.Ended {
		t.Errorf("after its run the answer is %s", now.Status)
	}
	d.now.Add(3 * 3600)
	if _, err := d.v.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := d.v.KeysBelow(t.Context(), fmt.Sprint("p/at/", req.Run)); err != nil || n != 0 {
		t.Errorf("%d rows are left of the run, %v", n, err)
	}
	if n, err := d.v.KeysBelow(t.Context(), "p/cap/"); err != nil || n != 0 {
		t.Errorf("%d grants are left, %v", n, err)
	}
}

// An agent that asks for what it lacks is offered the tools that it lacks, and told so.
func TestWhoAsksIsOfferedAllTools(t *testing.T) {
	d := newDesk(t, "", true)
	for _, asks := range []bool{true, false} {
		brief, err := d.clerk(t, asks).Brief(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		offered := slices.ContainsFunc(brief.Tools, func(tool runtime.Tool) bool { return tool.Name == "covia_write" })
		if told := strings.Contains(brief.System, "Your owner is asked about a call that your capabilities do not allow"); offered != asks || told != asks {
			t.Errorf("it asks: %t; covia_write is offered: %t; it is told: %t", asks, offered, told)
		}
		invoke(t, d.alice, "agent:delete", `{"agentId":"clerk","remove":true}`)
	}
	nothing := spec("nothing", "", "[]")
	nothing.Tools, nothing.Ask = []string{"covia:write"}, new(true)
	brief, err := create(t, d.alice, nothing).Brief(t.Context())
	if err != nil || len(brief.Tools) != 0 {
		t.Errorf("who may do nothing is offered %v, %v", brief.Tools, err)
	}
}
