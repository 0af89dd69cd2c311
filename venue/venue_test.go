package venue_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"usher/caps"
	"usher/runtime"
	"usher/tools/agents"
	"usher/venue"
	"usher/venue/ledger"
	"usher/venue/runs"
	"usher/venue/venuetest"
)

func TestMain(m *testing.M) {
	venuetest.CollectLess()
	if runCrashChild() || runPointChild() {
		return
	}
	goleak.VerifyTestMain(m)
}

// What the tests here begin with, by short names.
var (
	open    = venuetest.Open
	with    = venuetest.With
	attempt = venuetest.Attempt
	user    = venuetest.User
	spec    = venuetest.Spec
	create  = venuetest.Create
	chat    = venuetest.Chat
	invoke  = venuetest.Invoke
	read    = venuetest.Read
)

// puppet is a model that a test moves.
type puppet = venuetest.Model

func TestAgentWorksWithinItsCapabilities(t *testing.T) {
	p := new(puppet)
	v := open(t, with(p))
	alice := user(t, v, "alice")
	carol := create(t, alice, spec("carol", "", `[{"with":"w/","can":"crud/read"},{"with":"w/decisions/","can":"crud"}]`))

	if done := attempt(t, carol, p, "covia_write", `{"path":"w/decisions/INV-1","value":{"ok":true}}`); done.Outcome != runtime.ToolOK {
		t.Errorf("write inside: %s %s", done.Outcome, done.Result)
	}
	if got := read(t, alice, "w/decisions/INV-1/ok"); got != `{"exists":true,"value":true}` {
		t.Errorf("read back %s", got)
	}
	done := attempt(t, carol, p, "covia_write", `{"path":"w/audits/INV-1","value":1}`)
	if done.Outcome != runtime.ToolDenied || !strings.Contains(done.Result,
		"Capability denied: v/ops/covia/write requires crud/write on w/audits/INV-1. Your capabilities are: crud/read on w/, crud on w/decisions/. Retrying the same call will not succeed — the denial is structural.") {
		t.Errorf("write outside: %s %s", done.Outcome, done.Result)
	}
	if got := read(t, alice, "w/audits/INV-1"); got != `{"exists":false}` {
		t.Errorf("the refused write left %s", got)
	}
	sys := p.Systems()[0]
	if !strings.HasSuffix(sys, "## Your capabilities (caps)\n- crud/read on w/\n- crud on w/decisions/\nTool calls outside these capabilities will fail with a \"Capability denied\" error.\nRetrying the same call does not help — the denial is structural.") {
		t.Errorf("the system message ends:\n%s", sys)
	}
}

// The ways in which an agent with invoke and everything readable could launder
// a write that it may not make itself.
func TestLaunderedWritesAreRefused(t *testing.T) {
	p := new(puppet)
	v := open(t, with(p))
	alice := user(t, v, "alice")
	invoke(t, alice, "covia:write", `{"path":"w/vendor-records/Acme","value":{"status":"ACTIVE"}}`)
	invoke(t, alice, "covia:write", `{"path":"o/store","value":{"type":"orchestration","operation":{"adapter":"orchestrator","steps":[{"op":"covia:write","input":{"path":["const","w/vendor-records/Evil"],"value":["input"]}}]}}}`)
	invoke(t, alice, "covia:write", `{"path":"o/pin","value":{"operation":{"adapter":"covia:write"}}}`)
	create(t, alice, spec("clerk", "", `[{"with":"w/","can":"crud"}]`))
	dave := create(t, alice, spec("dave", "", `[{"with":"w/","can":"crud/read"},{"with":"g/","can":"agent"},{"with":"","can":"invoke"}]`))

	const evil = `{"path":"w/vendor-records/Evil","value":1}`
	for _, tc := range []struct{ name, tool, arguments string }{
		{"directly", "covia_write", evil},
		{"H3 by another spelling", "covia_write", `{"path":"/w/vendor-records/Evil","value":1}`},
		{"H3 by the owner's DID", "covia_write", `{"path":"` + alice.DID().String() + `/w/vendor-records/Evil","value":1}`},
		{"H3 by segments", "covia_write", `{"path":["w","vendor-records","Evil"],"value":1}`},
		{"H2 through grid:run", "grid_run", `{"operation":"covia:write","input":` + evil + `}`},
		{"H3 through grid:run by path", "grid_run", `{"operation":"/v/ops/covia/write","input":` + evil + `}`},
		{"H2 through grid:run of grid:run", "grid_run", `{"operation":"grid:run","input":{"operation":"covia:write","input":` + evil + `}}`},
		{"H3 through a pinned name", "grid_run", `{"operation":"o/pin","input":` + evil + `}`},
		{"H18 through an orchestration", "grid_run", `{"operation":"o/store","input":{}}`},
		{"through covia:copy", "covia_copy", `{"from":"w/vendor-records/Acme","to":"w/vendor-records/Evil"}`},
		{"through append", "covia_append", evil},
		{"H4 through a wider child", "agent_create", `{"agentId":"kid","config":{"caps":[{"with":"w/","can":"crud"}]}}`},
		{"H4 through an unrestricted-looking child", "agent_create", `{"agentId":"kid","config":{"caps":[{"with":"","can":"*"}]}}`},
		{"H4 through a fork of a wider agent", "agent_fork", `{"sourceId":"clerk","agentId":"kid"}`},
		{"H4 by rewriting a wider agent", "agent_update", `{"agentId":"clerk","config":{"prompt":"write w/vendor-records/Evil"}}`},
		{"H4 by widening itself", "agent_update", `{"agentId":"dave","config":{"caps":[{"with":"w/","can":"crud"}]}}`},
		{"H4 by replacing a wider agent", "agent_create", `{"agentId":"clerk","config":{"prompt":"mine"},"overwrite":true}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			done := attempt(t, dave, p, tc.tool, tc.arguments)
			if done.Outcome != runtime.ToolDenied || !strings.Contains(done.Result, "Capability denied") {
				t.Errorf("%s %s: %s %s, want a denial", tc.tool, tc.arguments, done.Outcome, done.Result)
			}
			if got := read(t, alice, "w/vendor-records/Evil"); got != `{"exists":false}` {
				t.Errorf("it was written: %s", got)
			}
		})
	}
	t.Run("H5 by asking a wider agent", func(t *testing.T) {
		// dave's request and clerk's write, on dave's behalf.
		p.Ask("agent_request", `{"agentId":"clerk","input":"write it"}`)
		p.Ask("covia_write", evil)
		chat(t, dave, "go")
		if got := read(t, alice, "w/vendor-records/Evil"); got != `{"exists":false}` {
			t.Errorf("it was written: %s", got)
		}
	})
	t.Run("H2 through a started job", func(t *testing.T) {
		done := attempt(t, dave, p, "grid_invoke", `{"operation":"covia:write","input":`+evil+`}`)
		var job struct{ ID string }
		if err := json.Unmarshal([]byte(done.Result), &job); err != nil || job.ID == "" {
			t.Fatalf("grid:invoke answered %s", done.Result)
		}
		if out, err := alice.Invoke(t.Context(), "grid:jobResult", map[string]any{"id": job.ID}); err == nil {
			t.Errorf("the job's result is %s, want that it was refused", out)
		}
		if rec, err := alice.Run(t.Context(), job.ID); err != nil || rec.Status != runs.Rejected {
			t.Errorf("job = %+v, %v; want REJECTED", rec, err)
		}
	})
}

func TestChildrenFollowTheirParent(t *testing.T) {
	p := new(puppet)
	v := open(t, with(p))
	alice := user(t, v, "alice")
	dave := create(t, alice, spec("dave", "", `[{"with":"w/","can":"crud"},{"with":"g/","can":"agent"}]`))

	if done := attempt(t, dave, p, "agent_create", `{"agentId":"kid","config":{"tools":["covia:*"]}}`); done.Outcome != runtime.ToolOK {
		t.Fatalf("create: %s", done.Result)
	}
	kid, err := alice.Agent(t.Context(), "kid")
	if err != nil {
		t.Fatal(err)
	}
	info, err := kid.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if info.Caps.IsUnrestricted() || info.Caps.String() != "crud on w/, agent on g/" {
		t.Errorf("a child without caps holds %v, want its creator's", info.Caps)
	}
	if done := attempt(t, kid, p, "covia_write", `{"path":"w/a","value":1}`); done.Outcome != runtime.ToolOK {
		t.Errorf("write before: %s", done.Result)
	}

	// The parent is narrowed while the child is in the middle of a turn.
	p.Between(func() {
		invoke(t, alice, "agent:update", `{"agentId":"dave","config":{"caps":[{"with":"w/","can":"crud/read"}]}}`)
	})
	p.Ask("covia_write", `{"path":"w/b","value":1}`)
	p.Ask("covia_write", `{"path":"w/c","value":1}`)
	var outcomes []string
	for ev, err := range kid.Chat(t.Context(), "write two") {
		if err != nil {
			t.Fatal(err)
		}
		if done, ok := ev.(runtime.ToolEnd); ok {
			outcomes = append(outcomes, done.Outcome)
		}
	}
	if diff := cmp.Diff([]string{runtime.ToolOK, runtime.ToolDenied}, outcomes); diff != "" {
		t.Errorf("the child's two writes (-want +got):\n%s", diff)
	}
	if !strings.Contains(p.Systems()[len(p.Systems())-1], "- crud/read on w/\n") {
		t.Errorf("the child's model is told:\n%s", p.Systems()[len(p.Systems())-1])
	}

	// Without its parent's record a child would hold nothing, so it is kept.
	if _, err := alice.Invoke(t.Context(), "agent:delete", map[string]any{"agentId": "dave", "remove": true}); err == nil || !strings.Contains(err.Error(), "kid") {
		t.Errorf("removing a parent: %v, want an error that names the child", err)
	}
}

func TestTwoThatMadeEachOtherHoldNoMoreThanBoth(t *testing.T) {
	p := new(puppet)
	v := open(t, with(p))
	alice := user(t, v, "alice")
	dave := create(t, alice, spec("dave", "", `[{"with":"w/","can":"crud"},{"with":"g/","can":"agent"}]`))
	attempt(t, dave, p, "agent_create", `{"agentId":"kid","config":{"tools":["agent:*","covia:*"]}}`)
	kid, err := alice.Agent(t.Context(), "kid")
	if err != nil {
		t.Fatal(err)
	}
	if done := attempt(t, kid, p, "agent_update", `{"agentId":"dave","config":{"caps":[{"with":"w/x","can":"crud"}]}}`); done.Outcome != runtime.ToolOK {
		t.Fatalf("update: %s", done.Result)
	}
	if done := attempt(t, kid, p, "covia_write", `{"path":"w/y","value":1}`); done.Outcome != runtime.ToolDenied {
		t.Errorf("the child of a narrowed parent wrote beyond it: %s", done.Result)
	}
	if done := attempt(t, kid, p, "covia_write", `{"path":"w/x","value":1}`); done.Outcome != runtime.ToolOK {
		t.Errorf("the child may not write what both hold: %s", done.Result)
	}
}

func TestAgentsWithTheirOwnAuthority(t *testing.T) {
	p := new(puppet)
	v := open(t, with(p))
	alice := user(t, v, "alice")
	clerk := spec("clerk", "", `[{"with":"w/","can":"crud"}]`)
	clerk.Authority = agents.AuthorityOwn
	create(t, alice, clerk)
	dave := create(t, alice, spec("dave", "", `[{"with":"g/clerk","can":"agent/request"}]`))
	p.Ask("agent_request", `{"agentId":"clerk","input":"write it"}`)
	p.Ask("covia_write", `{"path":"w/a","value":1}`)
	chat(t, dave, "go")
	if got := read(t, alice, "w/a"); got != `{"exists":true,"value":1}` {
		t.Errorf("clerk, with its own authority, left %s", got)
	}
	var last ledger.Row
	for row, err := range v.Audit(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if row.Entry != nil && row.Operation == "v/ops/covia/write" {
			last = row
		}
	}
	if last.Entry == nil || last.Actor != "clerk" || cmp.Diff([]string{"dave"}, last.Via) != "" || last.Job == "" {
		t.Errorf("the ledger says %+v, want clerk via dave in a job", last.Entry)
	}
}

func TestUsersAreApart(t *testing.T) {
	p := new(puppet)
	v := open(t, with(p))
	alice, bob := user(t, v, "alice"), user(t, v, "bob")
	invoke(t, alice, "covia:write", `{"path":"w/secret","value":"alice's"}`)
	invoke(t, alice, "covia:write", `{"path":"o/op","value":{"operation":{"adapter":"covia:read"}}}`)
	create(t, alice, spec("target", "", ""))
	started := invoke(t, alice, "grid:invoke", `{"operation":"covia:read","input":{"path":"w/secret"}}`)
	var job struct{ ID string }
	if err := json.Unmarshal([]byte(started), &job); err != nil {
		t.Fatal(err)
	}
	spy := create(t, bob, spec("spy", "", "")) // unrestricted, and all the same
	hers := alice.DID().String()

	for _, tc := range []struct{ tool, arguments string }{
		{"covia_read", `{"path":"` + hers + `/w/secret"}`},
		{"covia_read", `{"path":["` + hers + `","w","secret"]}`},
		{"covia_read", `{"path":"/` + hers + `/w/secret"}`},
		{"covia_list", `{"path":"` + hers + `/w"}`},
		{"covia_list", `{"path":"` + hers + `"}`},
		{"covia_slice", `{"path":"` + hers + `/w"}`},
		{"covia_inspect", `{"paths":["w","` + hers + `/w/secret"]}`},
		{"covia_write", `{"path":"` + hers + `/w/secret","value":1}`},
		{"covia_append", `{"path":"` + hers + `/w/log","value":1}`},
		{"covia_delete", `{"path":"` + hers + `/w/secret"}`},
		{"covia_copy", `{"from":"` + hers + `/w/secret","to":"w/mine"}`},
		{"covia_copy", `{"from":"w/x","to":"` + hers + `/w/x"}`},
		{"covia_read", `{"path":"` + hers + `/g/target"}`},
		{"covia_read", `{"path":"` + hers + `/j/` + job.ID + `"}`},
		{"agent_info", `{"agentId":"target"}`},
		{"agent_request", `{"agentId":"target","input":"hi"}`},
		{"agent_message", `{"agentId":"target","message":"hi"}`},
		{"agent_update", `{"agentId":"target","config":{"prompt":"mine"}}`},
		{"agent_delete", `{"agentId":"target","remove":true}`},
		{"agent_suspend", `{"agentId":"target"}`},
		{"agent_fork", `{"sourceId":"target","agentId":"mine"}`},
		{"grid_jobStatus", `{"id":"` + job.ID + `"}`},
		{"grid_jobResult", `{"id":"` + job.ID + `"}`},
		{"grid_run", `{"operation":"` + hers + `/o/op","input":{"path":"w/secret"}}`},
		{"grid_run", `{"operation":"o/op","input":{"path":"w/secret"}}`},
	} {
		t.Run(tc.tool+" "+tc.arguments, func(t *testing.T) {
			done := attempt(t, spy, p, tc.tool, tc.arguments)
			if done.Outcome == runtime.ToolOK || strings.Contains(done.Result, "alice's") {
				t.Errorf("%s: %s", done.Outcome, done.Result)
			}
		})
	}
	if got := read(t, alice, "w/secret"); got != `{"exists":true,"value":"alice's"}` {
		t.Errorf("alice reads %s", got)
	}
	_, unknown := bob.Invoke(t.Context(), "grid:jobStatus", map[string]string{"id": "01ARZ3NDEKTSV4RRFFQ69G5FAV"})
	_, hidden := bob.Invoke(t.Context(), "grid:jobStatus", map[string]string{"id": job.ID})
	if unknown == nil || hidden == nil || strings.ReplaceAll(hidden.Error(), job.ID, "ID") != strings.ReplaceAll(unknown.Error(), "01ARZ3NDEKTSV4RRFFQ69G5FAV", "ID") {
		t.Errorf("another's job looks different from none: %v, %v", hidden, unknown)
	}
}

func TestOrchestrationIsOneJob(t *testing.T) {
	v := open(t, nil)
	alice := user(t, v, "alice")
	invoke(t, alice, "covia:write", `{"path":"o/two","value":{"type":"orchestration","operation":{"adapter":"orchestrator","steps":[
		{"name":"put","op":"covia:write","input":{"path":["const","w/a"],"value":["input","n"]}},
		{"name":"get","op":"covia:read","input":{"path":["const","w/a"]},"after":[0]}],
		"result":{"n":[1,"value"]}}}}`)
	started := invoke(t, alice, "grid:invoke", `{"operation":"o/two","input":{"n":7}}`)
	var st struct{ ID string }
	if err := json.Unmarshal([]byte(started), &st); err != nil {
		t.Fatal(err)
	}
	if got := invoke(t, alice, "grid:jobResult", `{"id":"`+st.ID+`"}`); got != `{"n":7}` {
		t.Errorf("result = %s", got)
	}
	job, err := alice.Run(t.Context(), st.ID)
	if err != nil {
		t.Fatal(err)
	}
	var steps []string
	for _, s := range job.Steps {
		steps = append(steps, s.Name+" "+s.Status)
	}
	if diff := cmp.Diff([]string{"put COMPLETE", "get COMPLETE"}, steps); diff != "" || job.Op != "o/two" || job.Status != runs.Complete {
		t.Errorf("job %s %s, steps (-want +got):\n%s", job.Op, job.Status, diff)
	}
	for name, doc := range map[string]string{
		"a later step": `{"type":"orchestration","operation":{"adapter":"orchestrator","steps":[{"op":"covia:read","input":{"path":[1,"x"]}},{"op":"covia:read","input":{"path":["const","w/a"]}}]}}`,
		"no steps":     `{"type":"orchestration","operation":{"adapter":"orchestrator","steps":[]}}`,
	} {
		if _, err := alice.Invoke(t.Context(), "covia:write", map[string]any{"path": "o/bad", "value": json.RawMessage(doc)}); err == nil {
			t.Errorf("an orchestration with %s was stored", name)
		}
	}
}

func TestMessagesAreHeardAtTheNextTurn(t *testing.T) {
	p := new(puppet)
	v := open(t, with(p))
	alice := user(t, v, "alice")
	carol := create(t, alice, spec("carol", "", `[]`))
	eddie := create(t, alice, spec("eddie", "", `[{"with":"g/carol","can":"agent/message"}]`))
	if done := attempt(t, eddie, p, "agent_message", `{"agentId":"carol","message":"hello"}`); done.Outcome != runtime.ToolOK {
		t.Fatalf("message: %s", done.Result)
	}
	info, err := carol.Info(t.Context())
	if err != nil || info.Inbox != 1 {
		t.Errorf("carol's inbox holds %d, %v; want 1", info.Inbox, err)
	}
	chat(t, carol, "anything new?")
	if info, err = carol.Info(t.Context()); err != nil || info.Inbox != 0 {
		t.Errorf("after a turn carol's inbox holds %d, %v; want 0", info.Inbox, err)
	}
}

func TestSuspendedAndTerminatedAgentsTakeNoWork(t *testing.T) {
	p := new(puppet)
	v := open(t, with(p))
	alice := user(t, v, "alice")
	carol := create(t, alice, spec("carol", "", `[]`))
	fails := func(want string) {
		t.Helper()
		for _, err := range carol.Chat(t.Context(), "hi") {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("chat: %v, want %q", err, want)
			}
			return
		}
		t.Errorf("chat says nothing, want %q", want)
	}
	invoke(t, alice, "agent:suspend", `{"agentId":"carol"}`)
	fails("SUSPENDED")
	invoke(t, alice, "agent:resume", `{"agentId":"carol"}`)
	chat(t, carol, "hi")
	invoke(t, alice, "agent:delete", `{"agentId":"carol"}`)
	fails("TERMINATED")
	if list, err := alice.Agents(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("agents = %v, %v; want none", list, err)
	}
}

func TestWhatAnAgentCannotBe(t *testing.T) {
	v := open(t, with(new(puppet)))
	alice := user(t, v, "alice")
	for _, tc := range []struct{ name, input, want string }{
		{"no id", `{}`, "agentId"},
		{"a path for an id", `{"agentId":"a/b"}`, "agent id"},
		{"climbing id", `{"agentId":".."}`, "agent id"},
		{"unknown model", `{"agentId":"a","config":{"model":"gpt"}}`, `no model "gpt"`},
		{"unknown tool", `{"agentId":"a","config":{"tools":["covia:wirte"]}}`, "did you mean covia:write"},
		{"unknown key", `{"agentId":"a","config":{"cap":[]}}`, `did you mean "caps"`},
		{"caps in two cases", `{"agentId":"a","config":{"caps":[],"CAPS":null}}`, `unknown key "CAPS"`},
		{"caps as text", `{"agentId":"a","config":{"caps":"[]"}}`, "caps"},
		{"a capability without with", `{"agentId":"a","config":{"caps":[{"can":"crud"}]}}`, "with"},
		{"crud/*", `{"agentId":"a","config":{"caps":[{"with":"w/","can":"crud/*"}]}}`, "crud"},
		{"bad schema", `{"agentId":"a","config":{"output":{"type":"objekt"}}}`, "schema"},
		{"config as a list", `{"agentId":"a","config":[]}`, "write an object"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := alice.Invoke(t.Context(), "agent:create", json.RawMessage(tc.input))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("agent:create %s: %v, want an error with %q", tc.input, err, tc.want)
			}
		})
	}
	if list, err := alice.Agents(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("agents = %v, %v; want none", list, err)
	}
}

func TestH23AuditNamesEveryDecision(t *testing.T) {
	p := new(puppet)
	v := open(t, with(p))
	alice := user(t, v, "alice")
	carol := create(t, alice, spec("carol", "", `[{"with":"w/a","can":"crud"}]`))
	attempt(t, carol, p, "covia_write", `{"path":"w/a","value":1}`)
	attempt(t, carol, p, "covia_write", `{"path":"w/b","value":1}`)
	var got []string
	for row, err := range v.Audit(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if row.Entry == nil {
			got = append(got, "  "+row.Outcome)
			continue
		}
		got = append(got, fmt.Sprintf("%s %s %s by %s", row.Actor, row.Verdict, row.Needs[0].Resource, row.Needs[0].By))
	}
	want := []string{
		" allow g/carol by (unrestricted)", "  ok",
		"carol allow w/a by crud on w/a", "  ok",
		"carol deny w/b by ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
}

func TestClosedVenue(t *testing.T) {
	v, err := venue.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	alice := user(t, v, "alice")
	if err := errors.Join(v.Close(), v.Close()); err != nil {
		t.Errorf("Close twice: %v", err)
	}
	if _, err := alice.Invoke(t.Context(), "covia:write", map[string]any{"path": "w/a", "value": 1}); err == nil {
		t.Error("a closed venue took a write")
	}
}

func TestCapsMissingInStorageDenyEverything(t *testing.T) {
	var held caps.Set
	if err := json.Unmarshal([]byte(`{"status":"SLEEPING"}`), &struct {
		Caps *caps.Set `json:"caps"`
	}{&held}); err != nil {
		t.Fatal(err)
	}
	if !held.IsEmpty() {
		t.Errorf("a record without caps holds %v", held)
	}
}

// Who makes programs and removes them again, without end, fills no memory.
func TestRememberedProgramsAreBounded(t *testing.T) {
	if kept, last := venue.RememberCallables(10_000); kept > 4096 || !last {
		t.Errorf("of 10000 programs %d are remembered, the last of them: %t", kept, last)
	}
}
