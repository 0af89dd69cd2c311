package venue_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"usher/caps"
	"usher/runtime"
	"usher/tools/agents"
	"usher/tools/fault"
	"usher/venue"
	"usher/venue/runs"
	"usher/venue/venuetest"
)

// The tests that are named H and a number are of the holes that a review of another venue
// found. H2, H3, H4, H5 and H18 are subtests of TestLaunderedWritesAreRefused, H13, H14,
// H15 and H19 of TestAuthenticate.

const loot = "PIN-4711"

// pit is a venue with something to steal and something to break.
type pit struct {
	v     *venue.Venue
	p     *puppet
	alice *venue.User
}

func newPit(t *testing.T) pit {
	t.Helper()
	d := pit{p: new(puppet)}
	d.v = open(t, with(d.p))
	d.alice = user(t, d.v, "alice")
	setSecret(t, d.alice, "KEY", loot)
	for _, at := range []string{"w/vault/pin", "w/vendor-secret/pin", "w/vendors", "o/vendor-secret"} {
		invoke(t, d.alice, "covia:write", `{"path":"`+at+`","value":"`+loot+`"}`)
	}
	return d
}

// tempt has an agent of the capabilities make calls, and then an unrestricted one. The
// first gets nowhere; of the second all calls go through where they are ones that some
// agent may make.
func (d pit) tempt(t *testing.T, held string, someMay bool, calls ...[2]string) {
	t.Helper()
	for _, who := range []struct{ id, caps string }{{"weak", held}, {"strong", `null`}} {
		a := create(t, d.alice, spec(who.id, "", who.caps))
		for _, c := range calls {
			done := attempt(t, a, d.p, c[0], c[1])
			switch ok := done.Outcome == runtime.ToolOK; {
			case who.id == "strong" && someMay:
				if !ok {
					t.Errorf("%s %s of an unrestricted agent: %s %s", c[0], c[1], done.Outcome, done.Result)
				}
			case ok || strings.Contains(done.Result, loot):
				t.Errorf("%s %s of %s: %s %s", c[0], c[1], who.id, done.Outcome, done.Result)
			}
		}
	}
}

// What an agent puts into a context is read within its own capabilities.
func TestH1ContextLoad(t *testing.T) {
	d := newPit(t)
	boss := create(t, d.alice, spec("boss", "", `[{"with":"g/","can":"agent"},{"with":"w/open","can":"crud"}]`))
	create(t, d.alice, spec("other", "", `[]`))
	did := d.alice.DID().String()
	var entries []string
	for _, path := range []string{"w/vault/pin", "/w/vault", did + "/w/vault/pin", "s/KEY", "w"} {
		entries = append(entries, fmt.Sprintf(`{"path":%q}`, path))
	}
	config := `{"context":[` + strings.Join(entries, ",") + `]}`
	for id, call := range map[string][2]string{
		"kid":  {"agent_create", `{"agentId":"kid","config":` + config + `}`},
		"twin": {"agent_fork", `{"sourceId":"boss","agentId":"twin","config":` + config + `}`},
		"boss": {"agent_update", `{"agentId":"boss","config":` + config + `}`},
	} {
		if done := attempt(t, boss, d.p, call[0], call[1]); done.Outcome != runtime.ToolOK {
			t.Fatalf("%s: %s", call[0], done.Result)
		}
		d.p.Forget()
		chat(t, agentOf(t, d.alice, id), "what do you know?")
		if told := strings.Join(d.p.Systems(), "\n"); strings.Contains(told, loot) || !strings.Contains(told, "not available") {
			t.Errorf("the model of %s is told\n%s", id, told)
		}
	}
	create(t, d.alice, spec("root", "", `null`))
	invoke(t, d.alice, "agent:update", `{"agentId":"root","config":{"context":[{"path":"w/vault/pin"}]}}`)
	chat(t, agentOf(t, d.alice, "root"), "what do you know?")
	if told := strings.Join(d.p.Systems(), "\n"); !strings.Contains(told, loot) {
		t.Errorf("the model of an unrestricted agent is not told what its context names:\n%s", told)
	}
}

// A change of capabilities counts at the next call of a turn that runs, and nothing that
// the turn leaves behind brings the old ones back.
func TestH6StaleCapabilities(t *testing.T) {
	d := newPit(t)
	carol := create(t, d.alice, spec("carol", "", `[{"with":"w/","can":"crud"}]`))
	d.p.Ask("covia_write", `{"path":"w/a","value":1}`)
	d.p.Ask("covia_write", `{"path":"w/evil","value":1}`)
	d.p.Between(func() {
		invoke(t, d.alice, "agent:update", `{"agentId":"carol","config":{"caps":[{"with":"w/","can":"crud/read"}]}}`)
	})
	chat(t, carol, "write two")
	if got := read(t, d.alice, "w/a") + read(t, d.alice, "w/evil"); got != `{"exists":true,"value":1}{"exists":false}` {
		t.Errorf("w/a and w/evil read %s", got)
	}
	if done := attempt(t, carol, d.p, "covia_write", `{"path":"w/evil","value":1}`); done.Outcome != runtime.ToolDenied {
		t.Errorf("in the next turn: %s %s", done.Outcome, done.Result)
	}
}

// Capabilities that are no list of whole ones are refused, and change nothing.
func TestH7CapabilitiesOfAnotherType(t *testing.T) {
	d := newPit(t)
	carol := create(t, d.alice, spec("carol", "", `[{"with":"w/a","can":"crud"}]`))
	boss := create(t, d.alice, spec("boss", "", `[{"with":"g/","can":"agent"},{"with":"w/a","can":"crud"}]`))
	for _, caps := range []string{`"[]"`, `{}`, `{"with":"","can":"*"}`, `true`, `0`, `[[]]`, `[{"can":"*"}]`, `[{"with":""}]`, `[{"with":null,"can":"*"}]`, `["*"]`} {
		for op, input := range map[string]string{
			"agent:update": `{"agentId":"carol","config":{"caps":` + caps + `}}`,
			"agent:create": `{"agentId":"new","config":{"caps":` + caps + `}}`,
			"agent:fork":   `{"sourceId":"carol","agentId":"new","config":{"caps":` + caps + `}}`,
		} {
			if _, err := d.alice.Invoke(t.Context(), op, json.RawMessage(input)); fault.Of(err) != fault.InvalidInput {
				t.Errorf("%s %s: %v", op, input, err)
			}
		}
	}
	// What an agent says nothing of, or null, is what it holds itself.
	for _, config := range []string{`{"caps":null}`, `{}`} {
		if done := attempt(t, boss, d.p, "agent_create", `{"agentId":"kid","overwrite":true,"config":`+config+`}`); done.Outcome != runtime.ToolOK {
			t.Fatalf("create: %s", done.Result)
		}
		if held := venuetest.Info(t, agentOf(t, d.alice, "kid")).Caps; held.IsUnrestricted() || held.Check(caps.Need("crud/read", "w/vault/pin")).IsAllowed() {
			t.Errorf("with %s the child holds %v", config, held)
		}
	}
	if held := venuetest.Info(t, carol).Caps; held.Len() != 1 {
		t.Errorf("carol holds %v", held)
	}
}

// Agents of two users that have one name have nothing else in common.
func TestH8AgentsOfOneName(t *testing.T) {
	d := newPit(t)
	bob := user(t, d.v, "bob")
	hers, his := create(t, d.alice, spec("clerk", "", `[]`)), create(t, bob, spec("clerk", "", `[]`))
	invoke(t, d.alice, "agent:message", `{"agentId":"clerk","message":"the pin is `+loot+`"}`)
	for _, call := range [][2]string{
		{"agent:trigger", `{"agentId":"clerk","wait":true}`},
		{"agent:request", `{"agentId":"clerk","input":"what is the pin?"}`},
		{"agent:chat", `{"agentId":"clerk","message":"what is the pin?"}`},
		{"agent:context", `{"agentId":"clerk"}`},
		{"agent:suspend", `{"agentId":"clerk"}`},
	} {
		d.p.Gossip = true
		if out, err := bob.Invoke(t.Context(), call[0], json.RawMessage(call[1])); err != nil || strings.Contains(string(out), loot) {
			t.Errorf("bob's %s: %s, %v", call[0], out, err)
		}
	}
	if a, b := venuetest.Info(t, hers).Status, venuetest.Info(t, his).Status; a != agents.Sleeping || b != agents.Suspended {
		t.Errorf("alice's is %s, bob's %s", a, b)
	}
	if answer := invoke(t, d.alice, "agent:trigger", `{"agentId":"clerk","wait":true}`); !strings.Contains(answer, runs.Complete) {
		t.Errorf("alice's agent answers %s", answer)
	}
}

// Nothing but their own operations writes where the venue keeps its own.
func TestH9TheCatalogueIsNobodys(t *testing.T) {
	d := newPit(t)
	var calls [][2]string
	for _, at := range []string{"v/ops/covia/read", "v/evil", "g/weak", "g/weak/config/caps", "s/KEY", "j/x", "a/x"} {
		calls = append(calls,
			[2]string{"covia_write", `{"path":"` + at + `","value":1}`}, [2]string{"covia_append", `{"path":"` + at + `","value":1}`},
			[2]string{"covia_delete", `{"path":"` + at + `"}`}, [2]string{"covia_copy", `{"from":"w/vendors","to":"` + at + `"}`},
			[2]string{"grid_run", `{"operation":"covia:delete","input":{"path":"` + at + `"}}`},
		)
	}
	d.tempt(t, `[{"with":"","can":"*"}]`, false, calls...)
	if got := read(t, d.alice, "w/vault/pin"); !strings.Contains(got, loot) {
		t.Errorf("covia:read answers %s", got)
	}
}

// A run is whose it is: nobody else looks at it, waits for it, changes or follows it, by
// no way that leads to runs, and learns that it is there.
func TestH10RunsOfOthers(t *testing.T) {
	d := newPit(t)
	id, err := d.alice.Start(t.Context(), "covia:read", map[string]string{"path": "w/vault/pin"})
	if err != nil {
		t.Fatal(err)
	}
	invoke(t, d.alice, "grid:jobResult", `{"id":"`+id+`"}`)
	bob := user(t, d.v, "bob")
	for _, op := range []string{"grid:jobStatus", "grid:jobResult", "grid:jobCancel", "grid:jobPause", "grid:jobResume"} {
		_, theirs := bob.Invoke(t.Context(), op, map[string]string{"id": id})
		_, none := bob.Invoke(t.Context(), op, map[string]string{"id": "01ARZ3NDEKTSV4RRFFQ69G5FAV"})
		if theirs == nil || none == nil || strings.ReplaceAll(theirs.Error(), id, "") != strings.ReplaceAll(none.Error(), "01ARZ3NDEKTSV4RRFFQ69G5FAV", "") {
			t.Errorf("%s: %v, and of a run that is not there %v", op, theirs, none)
		}
	}
	if out := invoke(t, bob, "grid:jobList", `{}`); strings.Contains(out, id) {
		t.Errorf("bob's list has it: %s", out)
	}
	_, found := bob.Run(t.Context(), id)
	_, resumed := bob.Resume(t.Context(), id)
	for what, err := range map[string]error{"finds": found, "resumes": resumed, "stops": bob.Stop(t.Context(), id)} {
		if fault.Of(err) != fault.NotFound {
			t.Errorf("bob %s it: %v", what, err)
		}
	}
	for e, err := range bob.Events(t.Context(), id, 0) {
		if err == nil {
			t.Errorf("bob follows it: %+v", e)
		}
	}
}

// A capability does not reach what begins with the same letters.
func TestH11Siblings(t *testing.T) {
	d := newPit(t)
	create(t, d.alice, spec("alice", "", `[]`))
	d.tempt(t, `[{"with":"w/vendor","can":"*"},{"with":"w/vendor-","can":"*"},{"with":"o/vendor","can":"*"},{"with":"g/ali","can":"*"},{"with":"w/va","can":"cru"}]`, true,
		[2]string{"covia_read", `{"path":"w/vendor-secret/pin"}`}, [2]string{"covia_list", `{"path":"w/vendor-secret"}`}, [2]string{"covia_read", `{"path":"w/vendors"}`},
		[2]string{"covia_read", `{"path":"o/vendor-secret"}`}, [2]string{"covia_read", `{"path":"w/vault/pin"}`},
		[2]string{"agent_info", `{"agentId":"alice"}`}, [2]string{"agent_message", `{"agentId":"alice","message":"hi"}`},
	)
}

// A path that says what is above it is refused, and led nowhere, whatever covers it.
func TestH12PathsThatClimb(t *testing.T) {
	d := newPit(t)
	var calls [][2]string
	for _, at := range []string{"w/open/../vault/pin", "w/open/./../vault/pin", "w/open//../vault/pin", "w/open/%2e%2e/vault/pin", "w/open/..", `w/open\\..\\vault\\pin`, "w/open/../../s/KEY", "w/open/*", "w/vault/pin\\u0000"} {
		calls = append(calls, [2]string{"covia_read", `{"path":"` + at + `"}`}, [2]string{"covia_write", `{"path":"` + at + `","value":1}`}, [2]string{"grid_run", `{"operation":"covia:read","input":{"path":"` + at + `"}}`})
	}
	calls = append(calls, [2]string{"covia_read", `{"path":["w","open","..","vault","pin"]}`}, [2]string{"covia_read", `{"path":["w","open/../vault/pin"]}`})
	d.tempt(t, `[{"with":"w/open","can":"crud"},{"with":"","can":"invoke"}]`, false, calls...)
}

// A job that goes on does so by the authority that it was started by, as far as that
// reaches then.
func TestH16AJobGoesOnAsWhoeverStartedIt(t *testing.T) {
	dir := t.TempDir()
	d := newDesk(t, dir, true)
	s := spec("carol", "", `[{"with":"w/","can":"crud","ask":true},{"with":"","can":"invoke"}]`)
	create(t, d.alice, s)
	var ids []string
	for _, at := range []string{"w/first", "w/second", "w/third"} {
		d.model.Ask("grid_invoke", `{"operation":"covia:write","input":{"path":"`+at+`","value":1}}`)
		results, err := turnIn(t.Context(), agentOf(t, d.alice, "carol"), "", "go")
		var job struct{ ID string }
		if err != nil || json.Unmarshal([]byte(results[0].Result), &job) != nil {
			t.Fatalf("%v, %v", results, err)
		}
		for _, r := range d.v.LiveRuns() {
			_, _ = r.Wait(t.Context())
		}
		req := d.only(t)
		invoke(t, d.alice, "approval:approve", `{"id":"`+req.ID+`"}`)
		ids = append(ids, job.ID)
	}
	goOn := func(id, want string) {
		t.Helper()
		if err := d.v.Close(); err != nil {
			t.Fatal(err)
		}
		d = newDesk(t, dir, true)
		if r, err := d.alice.Resume(t.Context(), id); err != nil {
			t.Fatal(err)
		} else if _, err := r.Wait(t.Context()); (want == runs.Complete) != (err == nil) {
			t.Errorf("the job ends with %v", err)
		}
		if rec, err := d.alice.Run(t.Context(), id); err != nil || rec.Status != want || rec.Caller != "carol" {
			t.Errorf("the job of %s is %s, %v; want %s", rec.Caller, rec.Status, err, want)
		}
	}
	goOn(ids[0], runs.Complete)
	invoke(t, d.alice, "agent:update", `{"agentId":"carol","config":{"caps":[{"with":"w/","can":"crud/read"}]}}`)
	goOn(ids[1], runs.Rejected)
	invoke(t, d.alice, "agent:delete", `{"agentId":"carol"}`)
	invoke(t, d.alice, "agent:create", `{"agentId":"carol","overwrite":true,"config":{"caps":[{"with":"","can":"*"}]}}`)
	goOn(ids[2], runs.Rejected)
	for at, want := range map[string]string{"w/first": `{"exists":true,"value":1}`, "w/second": `{"exists":false}`, "w/third": `{"exists":false}`} {
		if got := read(t, d.alice, at); got != want {
			t.Errorf("%s reads %s, want %s", at, got, want)
		}
	}
}

// An agent that asks itself, or others in a circle, comes to an end that names the limit.
func TestH22AgentsInACircle(t *testing.T) {
	d := newPit(t)
	ann := create(t, d.alice, spec("ann", "", `null`))
	create(t, d.alice, spec("ben", "", `null`))
	for range 40 {
		d.p.Ask("agent_request", `{"agentId":"ben","input":"go"}`)
		d.p.Ask("agent_request", `{"agentId":"ann","input":"go"}`)
	}
	if _, err := turnIn(t.Context(), ann, "main", "go"); err != nil {
		t.Fatal(err)
	}
	if told := strings.Join(d.p.Results(), "\n"); !strings.Contains(told, "at most 16 deep") {
		t.Errorf("the agents are told\n%s", told)
	}
}
