package venue_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
	"usher/tools/agents"
	"usher/venue"
	"usher/venue/runs"
)

const crashTurnDir = "USHER_TEST_CRASH_TURN_DIR" // for the child of TestKillWithinATool

// slow is an operation whose effect takes as long as its caller lets it.
func slow(begun func()) *tools.Operation {
	return tools.New("test:slow", "Do something slowly.",
		func(struct{}) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} },
		func(ctx context.Context, _ tools.Call, _ struct{}) (struct{}, error) {
			begun()
			<-ctx.Done()
			return struct{}{}, context.Cause(ctx)
		}, tools.Within(caps.ScopeAbility("invoke")))
}

// What was begun when the process was killed is not begun again by itself: the run
// goes on, and the model is told that the effect is unknown.
func TestKillWithinATool(t *testing.T) {
	if dir := os.Getenv(crashTurnDir); dir != "" {
		p := new(puppet)
		v := open(t, &venue.Options{
			Dir: dir, Models: map[string]runtime.Model{"default": p},
			Tools: []*tools.Operation{slow(func() { fmt.Println("begun") })},
		})
		s := spec("bob", "", `[{"with":"","can":"invoke"}]`)
		s.Tools = []string{"test:slow"}
		attempt(t, create(t, user(t, v, "alice"), s), p, "test_slow", `{}`)
		return
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKillWithinATool$")
	cmd.Env = append(os.Environ(), crashTurnDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "begun\n" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()

	p, again := &puppet{Gossip: true}, 0
	v := open(t, &venue.Options{Dir: dir, Models: map[string]runtime.Model{"default": p}, Tools: []*tools.Operation{slow(func() { again++ })}})
	alice := user(t, v, "alice")
	bob, err := alice.Agent(t.Context(), "bob")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range pageOfRuns(t, alice) { // they go on by themselves
		for _, err := range alice.Events(t.Context(), r.ID, 0) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if info, err := bob.Info(t.Context()); err != nil || info.Status != agents.Sleeping {
		t.Errorf("bob is %s, %v", info.Status, err)
	}
	var run, result string
	var end runtime.TurnEnd
	intent := false
	for e, err := range bob.History(t.Context(), "main") {
		if err != nil {
			t.Fatal(err)
		}
		run = e.Run
		switch ev := e.Event.(type) {
		case runtime.ToolStart, runtime.ModelAnswer:
			intent = true
		case runtime.ToolEnd:
			result = ev.Outcome + " " + ev.Result
		case runtime.TurnEnd:
			end = ev
		}
	}
	if !intent {
		t.Error("the log lacks the intent")
	}
	if !strings.HasPrefix(result, runtime.ToolUnknown) || !strings.Contains(result, "Whether it took effect is unknown") {
		t.Errorf("the log has the result %q, want that the effect is unknown", result)
	}
	if end.Error != "" || !strings.Contains(end.Text, "Whether it took effect is unknown") {
		t.Errorf("the log ends with %+v, want that the model was told", end)
	}
	if cut, err := bob.Interruption(t.Context(), "main"); err != nil || cut != nil {
		t.Errorf("Interrupted = %+v, %v, want nothing", cut, err)
	}
	if rec, err := alice.Run(t.Context(), run); err != nil || rec.Status != runs.Complete {
		t.Errorf("the run is %s %q, %v; want it COMPLETE", rec.Status, rec.Error, err)
	}
	begun := 0
	for row, err := range v.Audit(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if row.Entry != nil && row.Operation == "v/ops/test/slow" {
			begun++
		}
	}
	if begun != 1 {
		t.Errorf("the ledger has %d decisions on the call, want 1", begun)
	}
	if again != 0 {
		t.Errorf("the tool was called %d times more, want none", again)
	}
}

// pageOfRuns is the first page of a user's runs.
func pageOfRuns(t *testing.T, u *venue.User) []runs.Record {
	t.Helper()
	list, _, err := u.Runs(t.Context(), "", 100)
	if err != nil {
		t.Fatal(err)
	}
	return list
}
