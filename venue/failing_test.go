package venue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"usher/runtime"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/fault"
	"usher/venue"
	"usher/venue/runs"
	"usher/venue/venuetest"
)

// fickle is a model that fails as often as it is told to, and answers then.
type fickle struct {
	mu    sync.Mutex
	fails []error // nil: it answers
}

func (m *fickle) next(errs ...error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fails = append(m.fails, errs...)
}

func (m *fickle) Generate(context.Context, *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if len(m.fails) == 0 {
			yield(runtime.Chunk{Text: "done"}, nil)
			return
		}
		err := m.fails[0]
		m.fails = m.fails[1:]
		yield(runtime.Chunk{Text: "done"}, err)
	}
}

// failing is a venue with an agent whose model fails.
type failing struct {
	v     *venue.Venue
	alice *venue.User
	kid   *venue.Agent
	model *fickle
}

func openFailing(t *testing.T, config string) *failing {
	t.Helper()
	f := &failing{model: new(fickle)}
	f.v = open(t, &venue.Options{Models: map[string]runtime.Model{"default": f.model}, Now: func() time.Time { return time.UnixMilli(1_800_000_000_000) }})
	f.alice = user(t, f.v, "alice")
	var err error
	invoke(t, f.alice, "agent:create", `{"agentId":"kid","config":{"caps":[]`+config+`}}`)
	if f.kid, err = f.alice.Agent(t.Context(), "kid"); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFailingTurnsSuspendTheirAgent(t *testing.T) {
	down, bad := errors.New("the model is down"), func(code fault.Code) error { return fault.New(code, "no") }
	unfit := `,"output":{"type":"object"}`
	tests := map[string]struct {
		config string
		turns  []error // of the model, a turn each
		ask    string  // beside the input of a request
		status string
		count  int
	}{
		"twice":                       {turns: []error{down, down}, status: agents.Sleeping, count: 2},
		"three times":                 {turns: []error{down, down, down}, status: agents.Suspended, count: 3},
		"with one that does between":  {turns: []error{down, down, nil, down, down}, status: agents.Sleeping, count: 2},
		"and then one that does":      {turns: []error{down, down, nil}, status: agents.Sleeping},
		"once where that is enough":   {config: `,"suspend_after":1`, turns: []error{down}, status: agents.Suspended, count: 1},
		"for ever":                    {config: `,"suspend_after":0`, turns: []error{down, down, down, down, down}, status: agents.Sleeping, count: 5},
		"by a status of the server":   {turns: []error{bad("500"), bad("503"), bad("401")}, status: agents.Suspended, count: 3},
		"for what was said":           {turns: []error{bad(fault.Status(http.StatusBadRequest)), bad("413"), bad("422"), bad(fault.Window), bad(fault.Refused)}, status: agents.Sleeping},
		"for a budget, or a bound":    {turns: []error{bad(fault.BudgetSpent), bad(fault.RateLimited), bad(fault.NoPrice)}, status: agents.Sleeping},
		"for a denial":                {config: `,"context":[{"path":"w/policy","required":true}]`, turns: []error{nil, nil, nil}, status: agents.Sleeping},
		"by answers that do not fit":  {config: unfit, turns: []error{nil, nil, nil}, status: agents.Suspended, count: 3},
		"by a form of who asks":       {turns: []error{nil, nil, nil}, ask: `,"responseSchema":{"type":"object"}`, status: agents.Sleeping},
		"by the model, in that form":  {turns: []error{down, down, down}, ask: `,"responseSchema":{"type":"object"}`, status: agents.Suspended, count: 3},
		"for tasks that it gives up ": {turns: []error{nil}, status: agents.Sleeping},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := openFailing(t, tt.config)
			for i, fails := range tt.turns {
				if fails != nil || tt.ask == "" && tt.config != unfit {
					f.model.next(fails)
				}
				_, err := f.alice.Invoke(t.Context(), "agent:request", json.RawMessage(`{"agentId":"kid","input":"work"`+tt.ask+`}`))
				if fails != nil && !errors.Is(err, fails) {
					t.Fatalf("turn %d: %v, want %v", i, err, fails)
				}
			}
			info, err := f.kid.Info(t.Context())
			if err != nil || info.Status != tt.status {
				t.Fatalf("it is %s, %v, want %s", info.Status, err, tt.status)
			}
			switch {
			case tt.count == 0:
				if info.Failing != nil {
					t.Errorf("it is said to fail: %+v", info.Failing)
				}
			case info.Failing == nil || info.Failing.Turns != tt.count || info.Failing.Since != 1_800_000_000_000 || info.Failing.Error == "" || info.Failing.Code == "":
				t.Errorf("it is said to fail by %+v, want %d turns", info.Failing, tt.count)
			}
			if invoke(t, f.alice, "agent:resume", `{"agentId":"kid"}`); info.Status == agents.Suspended {
				if info, err = f.kid.Info(t.Context()); err != nil || info.Failing != nil || info.Status != agents.Sleeping {
					t.Errorf("resumed it is %s, failing %+v, %v", info.Status, info.Failing, err)
				}
			}
		})
	}
}

// A turn that was stopped says nothing of its agent, and a suspended one stays so,
// whoever replaces its configuration.
func TestAStoppedTurnDoesNotCount(t *testing.T) {
	w := openWorks(t)
	for range 3 {
		id := w.start(t, "slow")
		<-w.valve.came
		if err := w.Stop(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	if info := venuetest.Info(t, agentOf(t, w.User, "slow")); info.Status != agents.Sleeping || info.Failing != nil {
		t.Errorf("it is %s, failing %+v", info.Status, info.Failing)
	}
	for range 3 {
		w.ended(t, w.start(t, "broken"))
	}
	invoke(t, w.User, "agent:create", `{"agentId":"broken","overwrite":true,"config":{"model":"quick","caps":[]}}`)
	if info := venuetest.Info(t, agentOf(t, w.User, "broken")); info.Status != agents.Suspended || info.Failing == nil {
		t.Errorf("replaced it is %s, failing %+v", info.Status, info.Failing)
	}
}

// What an agent may be told in each of its statuses.
func TestStatusesOfAgents(t *testing.T) {
	const yes = ""
	never := "is TERMINATED: create it again with overwrite"
	statuses := []string{agents.Sleeping, agents.Running, agents.Suspended, agents.Terminated}
	ops := map[string]struct {
		input string
		want  [4]string // by status: what it fails with
		after [4]string
	}{
		"agent:request":    {`"input":"x","wait":0`, [4]string{yes, yes, "is SUSPENDED: resume it first", never}, [4]string{"", "", agents.Suspended, agents.Terminated}},
		"agent:chat":       {`"message":"x"`, [4]string{yes, yes, "is SUSPENDED: resume it first", never}, [4]string{"", "", agents.Suspended, agents.Terminated}},
		"agent:trigger":    {`"wait":0`, [4]string{yes, yes, "is SUSPENDED: resume it first", never}, [4]string{"", "", agents.Suspended, agents.Terminated}},
		"agent:message":    {`"message":"x"`, [4]string{yes, yes, yes, never}, [4]string{agents.Sleeping, agents.Running, agents.Suspended, agents.Terminated}},
		"agent:info":       {``, [4]string{yes, yes, yes, yes}, [4]string{agents.Sleeping, agents.Running, agents.Suspended, agents.Terminated}},
		"agent:update":     {`"config":{"prompt":"x"}`, [4]string{yes, yes, yes, never}, [4]string{agents.Sleeping, agents.Running, agents.Suspended, agents.Terminated}},
		"agent:suspend":    {``, [4]string{yes, yes, yes, "is TERMINATED"}, [4]string{agents.Suspended, agents.Suspended, agents.Suspended, agents.Terminated}},
		"agent:resume":     {``, [4]string{yes, yes, yes, "is TERMINATED"}, [4]string{agents.Sleeping, agents.Running, agents.Sleeping, agents.Terminated}},
		"agent:delete":     {``, [4]string{yes, yes, yes, yes}, [4]string{agents.Terminated, agents.Terminated, agents.Terminated, agents.Terminated}},
		"agent:create":     {`"config":{"caps":[]},"overwrite":true`, [4]string{yes, yes, yes, yes}, [4]string{agents.Sleeping, agents.Running, agents.Suspended, agents.Sleeping}},
		"agent:cancelTask": {`"taskId":"01J"`, [4]string{"has no task", "has no task", "has no task", "has no task"}, [4]string{agents.Sleeping, agents.Running, agents.Suspended, agents.Terminated}},
	}
	for i, status := range statuses {
		for op, tt := range ops {
			t.Run(status+"/"+op, func(t *testing.T) {
				w := openWorks(t)
				invoke(t, w.User, "agent:create", `{"agentId":"kid","config":{"model":"slow","caps":[]}}`)
				switch status {
				case agents.Running:
					w.start(t, "kid")
					<-w.valve.came
				case agents.Suspended:
					invoke(t, w.User, "agent:suspend", `{"agentId":"kid"}`)
				case agents.Terminated:
					invoke(t, w.User, "agent:delete", `{"agentId":"kid"}`)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if op == "agent:chat" && tt.want[i] == yes { // it is asked, and nobody waits for the answer
					go func() { <-w.valve.came; cancel() }()
				}
				_, err := w.Invoke(ctx, op, json.RawMessage(`{"agentId":"kid"`+strings.TrimSuffix(","+tt.input, ",")+`}`))
				if ctx.Err() == nil && (err == nil) != (tt.want[i] == yes) || err != nil && !strings.Contains(err.Error(), tt.want[i]) {
					t.Errorf("%v, want %q", err, tt.want[i])
				}
				if info := venuetest.Info(t, agentOf(t, w.User, "kid")); tt.after[i] != "" && info.Status != tt.after[i] {
					t.Errorf("afterwards it is %s, want %s", info.Status, tt.after[i])
				}
			})
		}
	}
}

// restless is a venue on disk whose boss has its kid do a thing that a person must
// allow.
func restless(t *testing.T, dir string, o outside) (*venue.Venue, *venue.User) {
	t.Helper()
	v := open(t, &venue.Options{Dir: dir, Models: map[string]runtime.Model{
		"boss": o.model("boss", ask("agent_request", `{"agentId":"kid","input":"pay"}`)),
		"kid":  o.model("kid", ask("covia_write", `{"path":"w/refunds/1","value":7}`)),
	}})
	return v, user(t, v, "alice")
}

// Tasks of an agent that is suspended rest, with all that wait for them, also over a
// restart, and go on when it is resumed; those of one that has ended, end.
func TestRunsOfASuspendedAgentRest(t *testing.T) {
	for _, tt := range []struct {
		how, then, status, fails string
	}{
		{how: "agent:suspend", then: "agent:resume", status: runs.Complete},
		{how: "agent:suspend", then: "agent:delete", status: runs.Failed, fails: "agent kid has ended"},
		{how: "agent:delete", status: runs.Failed, fails: "agent kid has ended"},
	} {
		t.Run(tt.how+" "+tt.then, func(t *testing.T) {
			dir, o := t.TempDir(), outside{t.TempDir()}
			v, alice := restless(t, dir, o)
			for _, id := range []string{"kid", "boss"} {
				s := spec(id, id, asking)
				s.Tools = []string{"agent:request", "covia:write"}
				create(t, alice, s)
			}
			whole, err := agentOf(t, alice, "boss").Start(t.Context(), "main", "go")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := whole.Wait(t.Context()); fault.Of(err) != fault.Waiting {
				t.Fatalf("it ends with %v, want that it waits", err)
			}
			of := func(agent string) (rec runs.Record) {
				t.Helper()
				list, _, err := alice.Runs(t.Context(), "", 10)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range list {
					if r.Agent == agent {
						return r
					}
				}
				t.Fatalf("there is no run of %s", agent)
				return rec
			}
			task := of("kid")
			invoke(t, alice, tt.how, `{"agentId":"kid"}`)
			if tt.then != "" {
				if done, err := alice.Invoke(t.Context(), "approval:approve", map[string]string{"id": task.Waits[0]}); err != nil {
					t.Fatalf("%s, %v", done, err)
				}
				for range 2 {
					if now := of("kid"); now.Status != runs.Waiting || fmt.Sprint(now.Waits) != "[g/kid]" {
						t.Errorf("the task of the suspended agent is %s, waits for %v", now.Status, now.Waits)
					}
					if now := of("boss"); now.Status != runs.Waiting || fmt.Sprint(now.Waits) != "["+task.ID+"]" {
						t.Errorf("the turn above is %s, waits for %v", now.Status, now.Waits)
					}
					if err := v.Close(); err != nil {
						t.Fatal(err)
					}
					v, alice = restless(t, dir, o)
				}
				invoke(t, alice, tt.then, `{"agentId":"kid"}`)
			}
			rec := goesOn(t, v, alice, &tools.WaitError{Run: task.ID})
			if rec.Status != tt.status || rec.Error != tt.fails {
				t.Errorf("the task is %s: %s, want %s: %s", rec.Status, rec.Error, tt.status, tt.fails)
			}
			if rec := goesOn(t, v, alice, &tools.WaitError{Run: whole.ID()}); rec.Status != runs.Complete {
				t.Errorf("the turn above is %s: %s", rec.Status, rec.Error)
			}
			wrote := tt.status == runs.Complete
			if got := read(t, alice, "w/refunds/1") == `{"exists":true,"value":7}`; got != wrote {
				t.Errorf("it has written: %v, want %v", got, wrote)
			}
		})
	}
}

// A task that waits for its session while its agent is suspended has not begun, and
// begins when that is resumed.
func TestATaskThatWaitsForItsSession(t *testing.T) {
	w := openWorks(t)
	first := w.start(t, "slow") // in a session of its own
	<-w.valve.came
	rec, err := w.Run(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	var task struct{ ID string }
	out := invoke(t, w.User, "agent:request", `{"agentId":"slow","input":"second","wait":false,"sessionId":"`+rec.Session+`"}`)
	if err := json.Unmarshal([]byte(out), &task); err != nil {
		t.Fatal(err)
	}
	invoke(t, w.User, "agent:suspend", `{"agentId":"slow"}`)
	w.valve.opens <- struct{}{}
	w.ended(t, first)
	w.ended(t, task.ID)
	if now, err := w.Run(t.Context(), task.ID); err != nil || now.Status != runs.Waiting || fmt.Sprint(now.Waits) != "[g/slow]" {
		t.Errorf("the task is %s, waits for %v, %v", now.Status, now.Waits, err)
	}
	invoke(t, w.User, "agent:resume", `{"agentId":"slow"}`)
	<-w.valve.came
	w.valve.opens <- struct{}{}
	if rec := goesOn(t, w.Venue, w.User, &tools.WaitError{Run: task.ID}); rec.Status != runs.Complete {
		t.Errorf("resumed the task is %s: %s", rec.Status, rec.Error)
	}
}
