package venue_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"usher/venue"
)

const crashDir = "USHER_TEST_CRASH_DIR"

// runCrashChild is the child process of TestKill: it works and says what was
// acknowledged, until it is killed.
func runCrashChild() bool {
	dir := os.Getenv(crashDir)
	if dir == "" {
		return false
	}
	ctx := context.Background()
	v, err := venue.Open(ctx, &venue.Options{Dir: dir})
	if err != nil {
		panic(err)
	}
	alice, err := v.User(ctx, "alice")
	if err != nil {
		panic(err)
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

func TestKill(t *testing.T) {
	dir := t.TempDir()
	rounds, total := 3, 0
	var jobs []string
	for range rounds {
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
			if n == 40 {
				_ = cmd.Process.Kill()
			}
		}
		_ = cmd.Wait()
		if acked < 40 {
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
			job, err := alice.Job(t.Context(), id)
			if err != nil || job.Status == venue.JobStarted {
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
