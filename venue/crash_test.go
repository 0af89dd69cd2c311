package venue_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"usher/runtime"
	"usher/tools/agents"
	"usher/tools/fault"
	"usher/tools/spend"
	"usher/venue"
	"usher/venue/runs"
)

const (
	crashDir  = "USHER_TEST_CRASH_DIR"
	crashWork = "USHER_TEST_CRASH_WORK"
)

// runCrashChild is the child process of TestKill: it works and says what was
// acknowledged, until it is killed.
func runCrashChild() bool {
	dir := os.Getenv(crashDir)
	if dir == "" {
		return false
	}
	ctx := context.Background()
	v, err := venue.Open(ctx, &venue.Options{Dir: dir, Idle: os.Getenv(crashWork) != "schedule", Models: map[string]runtime.Model{"default": runtime.ModelFunc(silent)}})
	if err != nil {
		panic(err)
	}
	alice, err := v.User(ctx, "alice")
	if err != nil {
		panic(err)
	}
	switch os.Getenv(crashWork) {
	case "revoke":
		revokeAndWait(ctx, v, alice)
	case "ask":
		askAndWait(ctx, alice)
	case "schedule":
		scheduleAndWait(ctx, alice)
	}
	for n := 1; ; n++ {
		if _, err := alice.Invoke(ctx, "covia:write", map[string]any{"path": fmt.Sprintf("w/n/%d", n), "value": n}); err != nil {
			panic(err)
		}
		out, err := alice.Invoke(ctx, "grid:invoke", map[string]any{"operation": "covia:read", "input": map[string]any{"path": "w/n"}})
		if err != nil {
			panic(err)
		}
		var job struct{ ID string }
		if err := json.Unmarshal(out, &job); err != nil {
			panic(err)
		}
		fmt.Printf("%d %s\n", n, job.ID)
	}
}

// revokeAndWait delegates, revokes, says so, and waits to be killed.
func revokeAndWait(ctx context.Context, v *venue.Venue, alice *venue.User) {
	bob, err := v.User(ctx, "bob")
	if err != nil {
		panic(err)
	}
	if _, err := alice.Invoke(ctx, "covia:write", map[string]any{"path": "w/a", "value": 1}); err != nil {
		panic(err)
	}
	out, err := alice.Invoke(ctx, "ucan:delegate", map[string]any{
		"audience": bob.DID().String(), "ttl": "24h", "capabilities": []map[string]string{{"with": "w/a", "can": "crud/read"}},
	})
	if err != nil {
		panic(err)
	}
	var made struct{ Tokens []struct{ CID string } }
	if err := json.Unmarshal(out, &made); err != nil {
		panic(err)
	}
	if _, err := alice.Invoke(ctx, "ucan:revoke", map[string]any{"cid": made.Tokens[0].CID}); err != nil {
		panic(err)
	}
	fmt.Println("revoked")
	select {}
}

// silent is a model that says that it was asked, and nothing else.
func silent(ctx context.Context, _ *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		fmt.Println("asked")
		<-ctx.Done()
		yield(runtime.Chunk{}, ctx.Err())
	}
}

// askAndWait has an agent ask its model, and waits to be killed.
func askAndWait(ctx context.Context, alice *venue.User) {
	bob, err := alice.Agent(ctx, "bob")
	if missing := (*venue.NoAgentError)(nil); errors.As(err, &missing) {
		bob, err = alice.CreateAgent(ctx, agents.Spec{ID: "bob", Budgets: &agents.Budgets{Agent: spend.Limits{Calls: 2}}})
	}
	if err != nil {
		panic(err)
	}
	for _, err := range bob.Chat(ctx, "hello") {
		if err != nil {
			panic(err)
		}
	}
}

// scheduleAndWait schedules much that is due soon, and waits to be killed.
func scheduleAndWait(ctx context.Context, alice *venue.User) {
	begun, _, err := alice.Runs(ctx, "", 1)
	if err != nil {
		panic(err)
	}
	if len(begun) == 0 {
		for n := range scheduled {
			_, err := alice.Invoke(ctx, "scheduler:schedule", map[string]any{
				"operation": "covia:write", "input": map[string]any{"path": fmt.Sprintf("w/s/%d", n), "value": n},
				"name": fmt.Sprint("s", n), "at": time.Now().Add(time.Second + time.Duration(n)*time.Millisecond).UnixMilli(),
			})
			if err != nil {
				panic(err)
			}
		}
	}
	for {
		if _, err := alice.Invoke(ctx, "covia:inspect", map[string]any{"paths": "w/s"}); err != nil {
			panic(err)
		}
		list, _, err := alice.Runs(ctx, "", 1)
		if err != nil {
			panic(err)
		}
		if len(list) > 0 {
			fmt.Println("fired")
		}
	}
}

// scheduled is how many schedules the child of TestKillWhileSchedulesFire makes.
const scheduled = 150

// Each time of a schedule has one job, however often the process is killed while they
// fire.
func TestKillWhileSchedulesFire(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range rounds(4, 2) {
		killAfter(t, dir, "schedule", "fired")
	}
	v := open(t, &venue.Options{Dir: dir})
	alice := user(t, v, "alice")
	jobs := make(map[string]int)
	for total := 0; total < scheduled && t.Context().Err() == nil; {
		list, _, err := alice.Runs(t.Context(), "", 10*scheduled)
		if err != nil {
			t.Fatal(err)
		}
		clear(jobs)
		total = 0
		for _, j := range list {
			if j.Fired != nil {
				jobs[j.Fired.Schedule]++
				total++
			}
		}
	}
	for n := range scheduled {
		if got := jobs[fmt.Sprint("s", n)]; got != 1 {
			t.Errorf("schedule %d has %d jobs, want 1", n, got)
		}
	}
}

// killAfter runs a child that works in dir, and kills it when it has said so.
func killAfter(t *testing.T, dir, work, said string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), crashDir+"="+dir, crashWork+"="+work)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != said+"\n" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// A call of a model that was begun is spent, whatever became of its process.
func TestKillWithinACallOfTheModel(t *testing.T) {
	dir := t.TempDir()
	for begun := int64(1); begun <= 2; begun++ {
		killAfter(t, dir, "ask", "asked")
		v, err := venue.Open(t.Context(), &venue.Options{Dir: dir, Idle: true, Models: map[string]runtime.Model{"default": new(puppet)}})
		if err != nil {
			t.Fatal(err)
		}
		bob, err := user(t, v, "alice").Agent(t.Context(), "bob")
		if err != nil {
			t.Fatal(err)
		}
		info, err := bob.Info(t.Context())
		if err != nil || info.Spent.Calls != begun || info.Spent.Tokens == 0 {
			t.Errorf("after %d calls that were killed bob has spent %+v, %v", begun, info.Spent, err)
		}
		if cut, err := bob.Interruption(t.Context(), "main"); err != nil || cut == nil || cut.Error != "interrupted: the venue stopped before the turn ended" {
			t.Errorf("after %d calls that were killed Interrupted = %+v, %v", begun, cut, err)
		}
		if begun == 2 {
			_, err := turnIn(t.Context(), bob, "main", "go on")
			spentBudget(t, err, spend.BudgetError{Budget: "agent bob", Kind: "calls", Spent: "2", Limit: "2"})
			cut := pageOfRuns(t, user(t, v, "alice"))[1]
			if cut.Status != runs.Failed || cut.Code != fault.Interrupted || cut.Error != "interrupted: the venue stopped before the turn ended" {
				t.Errorf("the record of the turn that was cut is %s (%s): %s", cut.Status, cut.Code, cut.Error)
			}
		}
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestKillAfterARevocation(t *testing.T) {
	dir := t.TempDir()
	killAfter(t, dir, "revoke", "revoked")

	v := open(t, &venue.Options{Dir: dir})
	alice, bob := user(t, v, "alice"), user(t, v, "bob")
	if got := invoke(t, bob, "ucan:list", `{"received":true}`); !strings.Contains(got, `"revoked":true`) {
		t.Errorf("bob's tokens after the kill: %s", got)
	}
	path := alice.DID().String() + "/w/a"
	if got, err := bob.Invoke(t.Context(), "covia:read", map[string]string{"path": path}); err == nil {
		t.Errorf("after the kill bob reads %s by a revoked token", got)
	}
	cid := delegate(t, alice, bob.DID().String(), "crud/read", "w/a")
	if got := read(t, bob, path); got != `{"exists":true,"value":1}` {
		t.Errorf("by a fresh token %s bob reads %s", cid, got)
	}
}

func TestKill(t *testing.T) {
	dir := t.TempDir()
	total, enough := 0, rounds(40, 15) // writes before the child is killed
	var jobs []string
	for range rounds(3, 2) {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), crashDir+"="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		acked := 0
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			n, job := 0, ""
			if _, err := fmt.Sscan(lines.Text(), &n, &job); err != nil {
				continue // cut by the kill
			}
			acked, jobs = n, append(jobs, job)
			if n == enough {
				_ = cmd.Process.Kill()
			}
		}
		_ = cmd.Wait()
		if acked < enough {
			t.Fatalf("the child stopped after %d writes", acked)
		}
		total = max(total, acked)

		v, err := venue.Open(t.Context(), &venue.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		alice := user(t, v, "alice")
		for n := 1; n <= total; n++ {
			if got := read(t, alice, fmt.Sprintf("w/n/%d", n)); got != fmt.Sprintf(`{"exists":true,"value":%d}`, n) {
				t.Errorf("acknowledged write %d reads %s", n, got)
			}
		}
		for _, id := range jobs {
			job, err := alice.Run(t.Context(), id)
			if err != nil || job.Status == runs.Started {
				t.Errorf("acknowledged job %s: %s, %v; want it there, and not running", id, job.Status, err)
			}
		}
		writes := 0
		for row, err := range v.Audit(t.Context(), 1) {
			if err != nil {
				t.Fatal(err)
			}
			if row.Entry != nil && strings.HasPrefix(row.Needs[0].Resource, "w/n/") && row.Operation == "v/ops/covia/write" {
				writes++
			}
		}
		if writes < total {
			t.Errorf("the ledger has %d writes, %d were acknowledged", writes, total)
		}
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
