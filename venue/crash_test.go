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
	v, err := venue.Open(ctx, &venue.Options{Dir: dir})
	if err != nil {
		panic(err)
	}
	alice, err := v.User(ctx, "alice")
	if err != nil {
		panic(err)
	}
	if os.Getenv(crashWork) == "revoke" {
		revokeAndWait(ctx, v, alice)
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

func TestKillAfterARevocation(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), crashDir+"="+dir, crashWork+"=revoke")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "revoked\n" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()

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
