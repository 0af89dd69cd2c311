package venue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
	"usher/venue"
	"usher/venue/runs"
	"usher/venue/venuetest"
)

// valve is a model that answers when it is let, and a tool that returns when it is.
type valve struct {
	came  chan struct{} // it was asked
	opens chan struct{}
}

func newValve() *valve { return &valve{make(chan struct{}, 64), make(chan struct{}, 64)} }

func (v *valve) wait(ctx context.Context) error {
	v.came <- struct{}{}
	select {
	case <-v.opens:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (v *valve) Generate(ctx context.Context, _ *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		if err := v.wait(ctx); err != nil {
			yield(runtime.Chunk{}, err)
			return
		}
		yield(runtime.Chunk{Text: "done"}, nil)
	}
}

func (v *valve) tool() *tools.Operation {
	type after struct {
		After string `json:"after,omitempty"`
	}
	return tools.New("test:valve", "Wait.", func(after) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} },
		func(ctx context.Context, _ tools.Call, _ after) (string, error) { return "let", v.wait(ctx) })
}

// works is a venue with agents that end in each way.
type works struct {
	*venue.Venue
	*venue.User
	valve *valve
	boss  *puppet
}

func (w *works) options() *venue.Options {
	broken := runtime.ModelFunc(func(context.Context, *runtime.Request) iter.Seq2[runtime.Chunk, error] {
		return func(yield func(runtime.Chunk, error) bool) { yield(runtime.Chunk{}, errors.New("the model is broken")) }
	})
	return &venue.Options{
		Models: map[string]runtime.Model{"default": w.boss, "slow": w.valve, "quick": venuetest.Says("done"), "broken": broken},
		Tools:  []*tools.Operation{w.valve.tool()},
	}
}

func openWorks(t *testing.T) *works {
	t.Helper()
	w := &works{valve: newValve(), boss: new(puppet)}
	w.Venue = open(t, w.options())
	w.User = user(t, w.Venue, "alice")
	t.Cleanup(func() { close(w.valve.opens) }) // so that closing the venue waits for nothing
	w.fill(t)
	return w
}

func (w *works) fill(t *testing.T) {
	t.Helper()
	for _, id := range []string{"slow", "quick", "broken"} {
		create(t, w.User, spec(id, id, `[]`))
	}
	create(t, w.User, spec("boss", "", `[{"with":"g/","can":"agent"},{"with":"","can":"invoke"},{"with":"j/","can":"job"}]`))
}

// start has an agent asked, and returns its run.
func (w *works) start(t *testing.T, agent string) string {
	t.Helper()
	r, err := agentOf(t, w.User, agent).Start(t.Context(), "", "work")
	if err != nil {
		t.Fatal(err)
	}
	return r.ID()
}

func (w *works) status(t *testing.T, id string) string {
	t.Helper()
	r, err := w.Run(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return r.Status
}

// ended follows a run to where nobody drives it.
func (w *works) ended(t *testing.T, id string) string {
	t.Helper()
	for _, err := range w.Events(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return w.status(t, id)
}

func (w *works) do(t *testing.T, op, id string) (string, error) {
	t.Helper()
	out, err := w.Invoke(t.Context(), "grid:"+op, map[string]string{"id": id})
	var st struct{ Status string }
	if err == nil {
		err = json.Unmarshal(out, &st)
	}
	return st.Status, err
}

// child is the run that a run began.
func (w *works) child(t *testing.T, of string) string {
	t.Helper()
	list, _, err := w.Runs(t.Context(), "", 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if r.Parent == of {
			return r.ID
		}
	}
	t.Fatalf("run %s began nothing", of)
	return ""
}

// bring makes a job of a status.
func (w *works) bring(t *testing.T, status string) (id string) {
	t.Helper()
	switch status {
	case runs.Started:
		id = w.start(t, "slow")
		<-w.valve.came
	case runs.Paused:
		id = w.bring(t, runs.Started)
		if _, err := w.do(t, "jobPause", id); err != nil {
			t.Fatal(err)
		}
	case runs.Waiting:
		w.boss.Ask("agent_request", `{"agentId":"slow","input":"work"}`)
		id = w.start(t, "boss")
		<-w.valve.came
		if _, err := w.do(t, "jobPause", w.child(t, id)); err != nil {
			t.Fatal(err)
		}
		w.ended(t, id)
	case runs.Cancelled:
		id = w.bring(t, runs.Started)
		if _, err := w.do(t, "jobCancel", id); err != nil {
			t.Fatal(err)
		}
	case runs.Complete:
		id = w.start(t, "quick")
		w.ended(t, id)
	case runs.Failed:
		id = w.start(t, "broken")
		w.ended(t, id)
	case runs.Rejected:
		w.boss.Ask("grid_invoke", `{"operation":"covia:read","input":{"path":"w/x"}}`)
		turn := w.start(t, "boss")
		w.ended(t, turn)
		id = w.child(t, turn)
		w.ended(t, id)
	}
	if got := w.status(t, id); got != status {
		t.Fatalf("run %s is %s, want %s", id, got, status)
	}
	return id
}

// What is allowed in each status, and what it leads to.
func TestEachStatusAndWhatMayBeDoneInIt(t *testing.T) {
	const ended = "it has ended"
	want := map[string][3]string{ // cancel, pause, resume
		runs.Started:   {runs.Cancelled, runs.Paused, runs.Started},
		runs.Waiting:   {runs.Cancelled, runs.Paused, runs.Waiting},
		runs.Paused:    {runs.Cancelled, runs.Paused, runs.Started},
		runs.Cancelled: {runs.Cancelled, ended, ended},
		runs.Complete:  {ended, ended, ended},
		runs.Failed:    {ended, ended, ended},
		runs.Rejected:  {ended, ended, ended},
	}
	for status, leads := range want {
		for i, op := range []string{"jobCancel", "jobPause", "jobResume"} {
			t.Run(status+" "+op, func(t *testing.T) {
				w := openWorks(t)
				id := w.bring(t, status)
				got, err := w.do(t, op, id)
				if err != nil {
					if got = ended; !strings.Contains(err.Error(), ended) || !strings.Contains(err.Error(), status) {
						t.Errorf("%v, want that it is %s", err, status)
					}
				}
				if got != leads[i] {
					t.Errorf("%s of one that is %s leads to %s, want %s", op, status, got, leads[i])
				}
				if now := w.status(t, id); leads[i] != ended && now != leads[i] || leads[i] == ended && now != status {
					t.Errorf("it is %s", now)
				}
			})
		}
	}
}

// A run that is paused stays so when the venue is opened again, and goes on when it is
// resumed; what waits for it goes on then, too.
func TestAPausedRunOutlivesTheVenue(t *testing.T) {
	dir := t.TempDir()
	w := &works{valve: newValve(), boss: new(puppet)}
	opts := w.options()
	opts.Dir = dir
	v, err := venue.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	w.Venue, w.User = v, user(t, v, "alice")
	w.fill(t)
	boss := w.bring(t, runs.Waiting)
	task := w.child(t, boss)
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	w.Venue = open(t, opts)
	w.User = user(t, w.Venue, "alice")
	if is, waits := w.status(t, task), w.status(t, boss); is != runs.Paused || waits != runs.Waiting {
		t.Fatalf("opened again the task is %s and what waits for it %s", is, waits)
	}
	w.valve.opens <- struct{}{}
	if is, err := w.do(t, "jobResume", task); err != nil || is == runs.Paused {
		t.Fatalf("resumed it is %s, %v", is, err)
	}
	if is := w.ended(t, task); is != runs.Complete {
		t.Errorf("the task ends %s", is)
	}
	for w.status(t, boss) == runs.Waiting || w.ended(t, boss) == runs.Started { //nolint:revive // it goes on by itself
	}
	if is := w.status(t, boss); is != runs.Complete {
		t.Errorf("what waited for it ends %s", is)
	}
}

// Cancelling a run that waits cancels what it waits for.
func TestCancelledWithWhatItWaitsFor(t *testing.T) {
	w := openWorks(t)
	boss := w.bring(t, runs.Waiting)
	if _, err := w.do(t, "jobCancel", boss); err != nil {
		t.Fatal(err)
	}
	if is := w.status(t, w.child(t, boss)); is != runs.Cancelled {
		t.Errorf("the task is %s", is)
	}
	if list := chat(t, agentOf(t, w.User, "quick"), "still there?"); len(list) == 0 {
		t.Error("nothing works any more")
	}
}

// An orchestration that is paused begins no further step.
func TestAnOrchestrationRestsBetweenSteps(t *testing.T) {
	w := openWorks(t)
	invoke(t, w.User, "covia:write", `{"path":"o/plan","value":{"type":"orchestration","operation":{"adapter":"orchestrator",
		"steps":[{"op":"test:valve","input":{}},{"op":"test:valve","input":{"after":[0]}}],"result":{"last":[1]}}}}`)
	id, err := w.Start(t.Context(), "o/plan", struct{}{})
	if err != nil {
		t.Fatal(err)
	}
	<-w.valve.came
	out, err := w.Invoke(t.Context(), "grid:jobPause", map[string]any{"id": id, "wait": 0})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), runs.Started) {
		t.Errorf("before its step has ended: %s", out)
	}
	w.valve.opens <- struct{}{}
	if is := w.ended(t, id); is != runs.Paused {
		t.Fatalf("it is %s", is)
	}
	if _, err := w.do(t, "jobResume", id); err != nil {
		t.Fatal(err)
	}
	<-w.valve.came // the second step
	w.valve.opens <- struct{}{}
	if is := w.ended(t, id); is != runs.Complete {
		t.Errorf("it ends %s", is)
	}
	if n := len(w.valve.came); n != 0 {
		t.Errorf("%d steps were run again", n)
	}
}

// What has no point to rest at is not paused.
func TestNotPaused(t *testing.T) {
	w := openWorks(t)
	job, err := w.Start(t.Context(), "test:valve", struct{}{})
	if err != nil {
		t.Fatal(err)
	}
	<-w.valve.came
	first := w.bring(t, runs.Started)
	session := func() string {
		r, err := w.Run(t.Context(), first)
		if err != nil {
			t.Fatal(err)
		}
		return r.Session
	}()
	second, err := agentOf(t, w.User, "slow").Start(t.Context(), session, "and this")
	if err != nil {
		t.Fatal(err)
	}
	w.boss.Ask("grid_run", `{"operation":"test:valve"}`)
	turn := w.start(t, "boss")
	<-w.valve.came
	for name, tt := range map[string]struct{ id, want string }{
		"a job of one call":        {job, "can rest at no point"},
		"a turn that waits":        {second.ID(), "waits for the one before it"},
		"a part of another":        {w.child(t, turn), "driven by the call that began it"},
		"one that is not there":    {"nobody", `there is no run "nobody"`},
		"somebody else's namesake": {"01J00000000000000000000000", "there is no run"},
	} {
		if _, err := w.do(t, "jobPause", tt.id); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	bob := user(t, w.Venue, "bob")
	for _, op := range []string{"jobCancel", "jobPause", "jobResume"} {
		if _, err := bob.Invoke(t.Context(), "grid:"+op, map[string]string{"id": first}); err == nil || !strings.Contains(err.Error(), "there is no run") {
			t.Errorf("%s by another user: %v", op, err)
		}
	}
	if is := w.status(t, first); is != runs.Started {
		t.Errorf("it is %s", is)
	}
}

// Jobs are listed a page at a time, the latest first, and only the owner's.
func TestJobList(t *testing.T) {
	w := openWorks(t)
	var want []string
	for range 5 {
		want = append([]string{w.bring(t, runs.Complete)}, want...)
	}
	var got []string
	for cursor := ""; ; {
		var page struct {
			Jobs   []struct{ ID, Kind, Status string }
			Cursor string
		}
		if err := json.Unmarshal([]byte(invoke(t, w.User, "grid:jobList", fmt.Sprintf(`{"limit":2,"cursor":%q}`, cursor))), &page); err != nil {
			t.Fatal(err)
		}
		for _, j := range page.Jobs {
			if got = append(got, j.ID); j.Kind != runs.Turn || j.Status != runs.Complete {
				t.Errorf("job %+v", j)
			}
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("listed %v, want %v", got, want)
	}
	if out := invoke(t, user(t, w.Venue, "bob"), "grid:jobList", `{}`); out != `{"jobs":[]}` {
		t.Errorf("another user's: %s", out)
	}
}
