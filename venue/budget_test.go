package venue_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
	"usher/runtime/wrap"
	"usher/tools/agents"
	"usher/tools/spend"
	"usher/venue"
	"usher/venue/config"
	"usher/venue/runs"
	"usher/venue/venuetest"
)

// house is a venue with a boss and a kid, each with a model of its own. The kid
// is the boss's, who may do anything with agents.
type house struct {
	v         *venue.Venue
	alice     *venue.User
	boss, kid *venue.Agent
	p, q      *puppet // the boss's model and the kid's
	kidModel  *held   // around the latter
}

// held is a model that does something before each of its calls.
type held struct {
	runtime.Model
	before func()
}

func (h *held) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	if h.before != nil {
		h.before()
	}
	return h.Model.Generate(ctx, req)
}

const forAgents = `[{"with":"w/","can":"crud"},{"with":"g/","can":"agent"},{"with":"","can":"invoke"},{"with":"j/","can":"crud/read"}]`

func newHouse(t *testing.T, boss, kid *agents.Budgets) *house {
	t.Helper()
	h := &house{p: new(puppet), q: new(puppet)}
	h.open(t, "")
	b, k := spec("boss", "boss", forAgents), spec("kid", "kid", forAgents)
	b.Budgets, k.Budgets, k.Parent = boss, kid, "boss"
	h.boss, h.kid = create(t, h.alice, b), create(t, h.alice, k)
	return h
}

func (h *house) open(t *testing.T, dir string) {
	t.Helper()
	h.kidModel = &held{Model: h.q}
	price := &spend.Price{Input: 1, Output: 1}
	boss, kid := wrap.Meter(h.p, "boss", price), wrap.Meter(h.kidModel, "kid", price)
	h.v = open(t, &venue.Options{Dir: dir, Models: map[string]runtime.Model{"boss": boss, "kid": kid, "default": boss}})
	h.alice = user(t, h.v, "alice")
}

func calls(n int64) spend.Limits { return spend.Limits{Calls: n} }

var turnIn = venuetest.Turn

func spentBudget(t *testing.T, err error, want spend.BudgetError) {
	t.Helper()
	got, ok := errors.AsType[*spend.BudgetError](err)
	if !ok {
		t.Fatalf("error %v, want that budget %q is spent", err, want.Budget)
	}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Errorf("budget error (-want +got):\n%s", diff)
	}
}

func TestAChildStopsAtWhatIsLeftOfItsParentsRun(t *testing.T) {
	h := newHouse(t, &agents.Budgets{Run: calls(3)}, nil)
	h.p.Ask("agent_request", `{"agentId":"kid","input":"work"}`)
	h.q.Ask("covia_write", `{"path":"w/first","value":1}`)
	h.q.Ask("covia_write", `{"path":"w/second","value":2}`)
	h.q.Ask("covia_write", `{"path":"w/third","value":3}`)

	results, err := turnIn(t.Context(), h.boss, "main", "go")
	want := spend.BudgetError{Budget: "run of boss", Kind: "calls", Spent: "3", Limit: "3"}
	spentBudget(t, err, want)

	var told struct {
		Error     string
		Retryable bool
		Message   string
		Details   spend.BudgetError
	}
	if len(results) != 1 || json.Unmarshal([]byte(results[0].Result), &told) != nil {
		t.Fatalf("the boss was told %+v", results)
	}
	if diff := cmp.Diff(want, told.Details); diff != "" || told.Error != "budget_spent" || told.Retryable || !strings.Contains(told.Message, `"run of boss"`) {
		t.Errorf("the boss was told %s (-want +got):\n%s", results[0].Result, diff)
	}
	// What the kid did by then is there, in the data and in its session.
	if got := read(t, h.alice, "w/second"); got != `{"exists":true,"value":2}` {
		t.Errorf("the kid's work is %s", got)
	}
	if got := read(t, h.alice, "w/third"); got != `{"exists":false}` {
		t.Errorf("beyond the budget it wrote %s", got)
	}
	if info := about(t, h.kid); info.Sessions != 1 || info.Spent.Calls != 2 {
		t.Errorf("the kid has %d sessions and made %d calls, want 1 and 2", info.Sessions, info.Spent.Calls)
	}
	// A run is one turn: the next one has a budget of its own.
	if _, err := turnIn(t.Context(), h.boss, "main", "again"); err != nil {
		t.Errorf("the next turn: %v", err)
	}
}

var about = venuetest.Info

// At its end a turn tells what it led to, others' work included, and its log
// keeps that.
func TestATurnTellsWhatItCaused(t *testing.T) {
	for _, tc := range []struct {
		name, tool, arguments string
		caused                *runtime.Spending
	}{
		{name: "alone", tool: "covia_write", arguments: `{"path":"w/x","value":1}`},
		{
			"it asks another", "agent_request", `{"agentId":"kid","input":"work"}`,
			&runtime.Spending{Calls: 4, Usage: runtime.Usage{Input: 220, Output: 24, Cost: 4}},
		},
		{
			"in the background", "agent_request", `{"agentId":"kid","input":"work","timeout":60000}`,
			&runtime.Spending{Calls: 4, Usage: runtime.Usage{Input: 220, Output: 24, Cost: 4}},
		},
		{
			"by another operation", "grid_run", `{"operation":"agent:request","input":{"agentId":"kid","input":"work"}}`,
			&runtime.Spending{Calls: 4, Usage: runtime.Usage{Input: 220, Output: 24, Cost: 4}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHouse(t, nil, nil)
			h.p.Usage, h.q.Usage = &runtime.Usage{Input: 100, Output: 10}, &runtime.Usage{Input: 10, Output: 2}
			h.p.Ask(tc.tool, tc.arguments)
			h.q.Ask("covia_write", `{"path":"w/first","value":1}`)
			var told runtime.TurnEnd
			for ev, err := range h.boss.Chat(t.Context(), "go") {
				if err != nil {
					t.Fatal(err)
				}
				if end, ok := ev.(runtime.TurnEnd); ok {
					told = end
				}
			}
			own := runtime.Usage{Input: 200, Output: 20, Cost: 2}
			if diff := cmp.Diff(tc.caused, told.Caused); diff != "" || told.Calls != 2 || told.Usage != own {
				t.Errorf("%d calls, %+v; caused (-want +got):\n%s", told.Calls, told.Usage, diff)
			}
			var kept runtime.TurnEnd
			for e, err := range h.boss.History(t.Context(), "main") {
				if err != nil {
					t.Fatal(err)
				}
				if end, ok := e.Event.(runtime.TurnEnd); ok {
					kept = end
				}
			}
			if diff := cmp.Diff(told, kept); diff != "" {
				t.Errorf("the log (-told +kept):\n%s", diff)
			}
		})
	}
}

// A call that a budget refuses was not made, and is not counted as one.
func TestARefusedCallIsNone(t *testing.T) {
	h := newHouse(t, &agents.Budgets{Run: calls(1)}, nil)
	h.p.Ask("covia_write", `{"path":"w/x","value":1}`)
	var end runtime.TurnEnd
	for ev := range h.boss.Chat(t.Context(), "go") {
		if ev, ok := ev.(runtime.TurnEnd); ok {
			end = ev
		}
	}
	if end.Code != "budget_spent" || end.Calls != 1 || end.Caused != nil {
		t.Errorf("the turn ended with %q after %d calls, caused %+v; want one call", end.Error, end.Calls, end.Caused)
	}
}

func TestATaskHasABudgetOfItsOwn(t *testing.T) {
	h := newHouse(t, &agents.Budgets{Run: calls(10)}, nil)
	h.p.Ask("agent_request", `{"agentId":"kid","input":"work","budget":{"calls":1}}`)
	h.q.Ask("covia_read", `{"path":"w/x"}`)
	results, err := turnIn(t.Context(), h.boss, "main", "go")
	if err != nil {
		t.Fatalf("the boss, who has calls left: %v", err)
	}
	if len(results) != 1 || !strings.Contains(results[0].Result, `"budget":"task of boss for kid"`) {
		t.Errorf("the boss was told %+v", results)
	}

	for _, wrong := range []string{`{"call":1}`, `{"calls":0}`, `{"money":-1}`, `{}`, `5`} {
		h.p.Ask("agent_request", `{"agentId":"kid","input":"work","budget":`+wrong+`}`)
		if results, _ := turnIn(t.Context(), h.boss, "main", "go"); len(results) != 1 || !strings.Contains(results[0].Result, `"invalid_input"`) {
			t.Errorf("budget %s: the boss was told %+v", wrong, results)
		}
	}
	if _, err := h.alice.Invoke(t.Context(), "agent:request", map[string]any{"agentId": "kid", "input": "hi", "budget": nil}); err != nil {
		t.Errorf("null as budget: %v", err)
	}
}

func TestABudgetReachesThroughOrchestrationsAndJobs(t *testing.T) {
	h := newHouse(t, &agents.Budgets{Run: calls(3)}, nil)
	invoke(t, h.alice, "covia:write", `{"path":"o/plan","value":{"type":"orchestration","operation":{"adapter":"orchestrator","steps":[
		{"op":"grid:run","input":{"operation":["const","agent:request"],"input":{"agentId":["const","kid"],"input":["const","work"]}}}]}}}`)
	h.p.Ask("grid_run", `{"operation":"o/plan","input":{}}`)
	for range 3 {
		h.q.Ask("covia_read", `{"path":"w/x"}`)
	}
	results, err := turnIn(t.Context(), h.boss, "main", "go")
	spentBudget(t, err, spend.BudgetError{Budget: "run of boss", Kind: "calls", Spent: "3", Limit: "3"})
	if len(results) != 1 || !strings.Contains(results[0].Result, `"error":"budget_spent"`) {
		t.Errorf("the boss was told %+v", results)
	}
}

func TestBackgroundWorkIsPaidByWhatStartedIt(t *testing.T) {
	for name, start := range map[string]string{
		"grid:invoke":                  `{"operation":"agent:request","input":{"agentId":"kid","input":"work"}}`,
		"agent:request with a timeout": `{"agentId":"kid","input":"work","timeout":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, &agents.Budgets{Run: calls(3)}, nil)
			tool := "grid_invoke"
			if strings.Contains(name, "request") {
				tool = "agent_request"
			}
			reached, goOn := make(chan struct{}), make(chan struct{})
			h.q.Ask("covia_read", `{"path":"w/x"}`)
			h.q.Ask("covia_read", `{"path":"w/x"}`)
			var once sync.Once // the kid waits in its first call until the boss's turn has ended
			h.kidModel.before = func() { once.Do(func() { close(reached); <-goOn }) }
			h.p.Ask(tool, start)
			results, err := turnIn(t.Context(), h.boss, "main", "go")
			if err != nil || len(results) != 1 {
				t.Fatalf("the boss's turn: %v, %+v", err, results)
			}
			<-reached
			close(goOn)
			var job struct{ ID string }
			if err := json.Unmarshal([]byte(results[0].Result), &job); err != nil {
				t.Fatal(err)
			}
			want := spend.BudgetError{Budget: "run of boss", Kind: "calls", Spent: "3", Limit: "3"}
			_, err = h.alice.Invoke(t.Context(), "grid:jobResult", map[string]string{"id": job.ID})
			spentBudget(t, err, want)
			rec, err := h.alice.Run(t.Context(), job.ID)
			if err != nil || rec.Status != runs.Failed || rec.Budget == nil || *rec.Budget != want || !strings.Contains(rec.Error, "run of boss") {
				t.Errorf("the job is %+v, %v", rec, err)
			}
		})
	}
}

func TestASpentParentStopsItsChildren(t *testing.T) {
	h := newHouse(t, &agents.Budgets{Agent: calls(2)}, nil)
	h.p.Ask("agent_create", `{"agentId":"made","config":{"model":"kid"}}`)
	if _, err := turnIn(t.Context(), h.boss, "main", "go"); err != nil {
		t.Fatal(err)
	}
	want := spend.BudgetError{Budget: "agent boss", Kind: "calls", Spent: "2", Limit: "2"}
	for _, id := range []string{"boss", "kid", "made"} {
		_, err := turnIn(t.Context(), agentOf(t, h.alice, id), "main", "hello")
		spentBudget(t, err, want)
	}
	// The owner raises it, and all go on, the kid on the boss's account too.
	invoke(t, h.alice, "agent:update", `{"agentId":"boss","config":{"budgets":{"agent":{"calls":3}}}}`)
	if _, err := turnIn(t.Context(), h.kid, "main", "hello again"); err != nil {
		t.Errorf("after the raise: %v", err)
	}
	want.Spent, want.Limit = "3", "3"
	_, err := turnIn(t.Context(), h.boss, "main", "hello")
	spentBudget(t, err, want)
	spent := about(t, h.boss).Spent
	if diff := cmp.Diff([]agents.Budget{{For: "agent", Of: "boss", Limits: calls(3), Spent: &spent}}, about(t, h.kid).Budgets); diff != "" {
		t.Errorf("the kid's budgets (-want +got):\n%s", diff)
	}
}

func TestASessionGoesOnWhenItsBudgetIsRaised(t *testing.T) {
	p := &puppet{Gossip: true}
	alice := user(t, open(t, with(p)), "alice")
	with := spec("boss", "", forAgents)
	with.Budgets = &agents.Budgets{Session: calls(2)}
	boss := create(t, alice, with)
	p.Ask("covia_write", `{"path":"w/x","value":"the first"}`)
	p.Ask("covia_read", `{"path":"w/x"}`)
	_, err := turnIn(t.Context(), boss, "main", "remember 42")
	spentBudget(t, err, spend.BudgetError{Budget: "session main of boss", Kind: "calls", Spent: "2", Limit: "2"})
	if _, err := turnIn(t.Context(), boss, "other", "hello"); err != nil {
		t.Errorf("another session has a budget of its own: %v", err)
	}
	invoke(t, alice, "agent:update", `{"agentId":"boss","config":{"budgets":{"session":{"calls":3}}}}`)
	var answer string
	for _, ev := range chat(t, boss, "go on") {
		if done, ok := ev.(runtime.TurnEnd); ok {
			answer = done.Text
		}
	}
	for _, part := range []string{"remember 42", "the first", "go on"} {
		if !strings.Contains(answer, part) {
			t.Errorf("the session that went on lacks %q: %s", part, answer)
		}
	}
}

func TestWhatWasSpentOutlivesTheVenue(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	h := &house{p: new(puppet), q: new(puppet)}
	v, err := venue.Open(t.Context(), &venue.Options{Dir: dir, Models: map[string]runtime.Model{"default": h.p}})
	if err != nil {
		t.Fatal(err)
	}
	s := spec("boss", "", forAgents)
	s.Budgets = &agents.Budgets{Session: calls(2), Agent: calls(3)}
	boss := create(t, user(t, v, "alice"), s)
	for range 2 {
		chat(t, boss, "hello")
	}
	before := about(t, boss).Spent
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}

	h.open(t, dir)
	boss = agentOf(t, h.alice, "boss")
	if diff := cmp.Diff(before, about(t, boss).Spent); diff != "" {
		t.Errorf("spent (-before +after):\n%s", diff)
	}
	_, err = turnIn(t.Context(), boss, "main", "hello")
	spentBudget(t, err, spend.BudgetError{Budget: "session main of boss", Kind: "calls", Spent: "2", Limit: "2"})
	if _, err := turnIn(t.Context(), boss, "other", "hello"); err != nil {
		t.Fatal(err)
	}
	_, err = turnIn(t.Context(), boss, "third", "hello")
	spentBudget(t, err, spend.BudgetError{Budget: "agent boss", Kind: "calls", Spent: "3", Limit: "3"})

	// Removing the agent removes what it spent.
	invoke(t, h.alice, "agent:delete", `{"agentId":"boss","remove":true}`)
	boss = create(t, h.alice, s)
	if _, err := turnIn(t.Context(), boss, "main", "hello"); err != nil {
		t.Errorf("a new agent of that id: %v", err)
	}
	if got := about(t, boss).Spent.Calls; got != 1 {
		t.Errorf("a new agent of that id has made %d calls, want 1", got)
	}
}

func TestTheJobKeepsItsBudgetErrorOverARestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	p := new(puppet)
	opts := &venue.Options{Dir: dir, Models: map[string]runtime.Model{"default": p}}
	v, err := venue.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	s := spec("boss", "", forAgents)
	s.Budgets = &agents.Budgets{Run: calls(1)}
	alice := user(t, v, "alice")
	create(t, alice, s)
	p.Ask("covia_read", `{"path":"w/x"}`)
	var job struct{ ID string }
	if err := json.Unmarshal([]byte(invoke(t, alice, "grid:invoke", `{"operation":"agent:request","input":{"agentId":"boss","input":"go"}}`)), &job); err != nil {
		t.Fatal(err)
	}
	result := map[string]string{"id": job.ID}
	want := spend.BudgetError{Budget: "run of boss", Kind: "calls", Spent: "1", Limit: "1"}
	_, err = alice.Invoke(t.Context(), "grid:jobResult", result)
	spentBudget(t, err, want)
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = user(t, open(t, opts), "alice").Invoke(t.Context(), "grid:jobResult", result)
	spentBudget(t, err, want)
}

// costly is a puppet whose answers say what they used.
type costly struct {
	puppet
	usage runtime.Usage
}

func (c *costly) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		for chunk, err := range c.puppet.Generate(ctx, req) {
			chunk.Usage = &c.usage
			if !yield(chunk, err) {
				return
			}
		}
	}
}

func TestMoneyIsCountedExactly(t *testing.T) {
	m := &costly{usage: runtime.Usage{Input: 1000, Output: 100}}
	priced := wrap.Meter(m, "default", &spend.Price{Input: 2_500_000, Output: 10_000_000}) // 0.0035 a call
	c, err := config.Parse("usher.yaml", []byte(`
agents:
  - {id: carol, caps: [], budgets: {session: {money: 0.007}}}
  - {id: dave, model: free, caps: [], budgets: {run: {money: 0.007}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	v := open(t, &venue.Options{Config: c, Models: map[string]runtime.Model{"default": priced, "free": new(puppet)}})
	alice := user(t, v, c.User)
	carol := agentOf(t, alice, "carol")
	for range 2 {
		chat(t, carol, "hello")
	}
	_, err = turnIn(t.Context(), carol, "main", "hello")
	spentBudget(t, err, spend.BudgetError{Budget: "session main of carol", Kind: "money", Spent: "0.007", Limit: "0.007"})
	if diff := cmp.Diff(spend.Amount{Calls: 2, Tokens: 2200, Money: 7000}, about(t, carol).Spent); diff != "" {
		t.Errorf("spent (-want +got):\n%s", diff)
	}
	_, err = turnIn(t.Context(), agentOf(t, alice, "dave"), "main", "hello")
	if _, ok := errors.AsType[*spend.PriceError](err); !ok {
		t.Errorf("a model without a price under a budget in money: %v", err)
	}
}

func TestAnEmbeddersBudgetHolds(t *testing.T) {
	h := newHouse(t, nil, nil)
	ctx := runtime.WithBudgets(t.Context(), spend.NewBudget("this request", spend.Limits{Calls: 2}))
	h.p.Ask("agent_request", `{"agentId":"kid","input":"work"}`)
	h.q.Ask("covia_read", `{"path":"w/x"}`)
	want := spend.BudgetError{Budget: "this request", Kind: "calls", Spent: "2", Limit: "2"}
	_, err := turnIn(ctx, h.boss, "main", "go")
	spentBudget(t, err, want)
	_, err = h.alice.Invoke(ctx, "agent:request", map[string]any{"agentId": "kid", "input": "go", "timeout": 10_000})
	spentBudget(t, err, want)
}

// Turns of an agent that run at once share its budget: what is admitted is
// counted before the next is asked.
func TestTurnsAtOnceSpendOneBudget(t *testing.T) {
	const limit, turns = 20, 50
	h := newHouse(t, &agents.Budgets{Agent: calls(limit)}, nil)
	var work sync.WaitGroup
	done := make(chan error, turns)
	for i := range turns {
		a := h.boss
		if i%2 == 0 {
			a = h.kid
		}
		work.Go(func() {
			_, err := turnIn(t.Context(), a, "", "hello")
			done <- err
		})
	}
	work.Wait()
	close(done)
	ok := 0
	for err := range done {
		if err == nil {
			ok++
		} else if _, spent := errors.AsType[*spend.BudgetError](err); !spent {
			t.Errorf("a turn failed otherwise: %v", err)
		}
	}
	if got := about(t, h.boss).Spent.Calls; ok != limit || got != limit {
		t.Errorf("%d turns ended well and %d calls were counted, want %d", ok, got, limit)
	}
}
