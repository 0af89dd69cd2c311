package ledger

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"usher/venue/store/journal"
)

// childDir is set in the process that TestKill starts: it writes there until it
// is killed.
const childDir = "USHER_LEDGER_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := callUntilKilled(dir); err != nil {
			fmt.Println("error", err)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// callUntilKilled makes calls from several sessions at once, and says which row
// each call has been acknowledged with.
func callUntilKilled(dir string) error {
	ctx := context.Background()
	st, err := journal.Open(dir, nil)
	if err != nil {
		return err
	}
	if err := Create(ctx, st); err != nil {
		return err
	}
	key, err := seeded(1)
	if err != nil {
		return err
	}
	l, err := Open(ctx, st, Options{Key: key, Checkpoints: []string{checkpointsOf(dir)}})
	if err != nil {
		return err
	}
	var out sync.Mutex
	var wg sync.WaitGroup
	for session := range 8 {
		wg.Go(func() {
			for n := 0; ; n++ {
				e := entry(n)
				e.Session = fmt.Sprint(session)
				seq, err := l.RecordDecision(ctx, e, Batch{})
				if err == nil {
					err = l.RecordOutcome(ctx, seq, nil, Batch{})
				}
				out.Lock()
				fmt.Println("called", session, n, seq, err)
				out.Unlock()
			}
		})
	}
	wg.Wait()
	return nil
}

func checkpointsOf(dir string) string { return filepath.Join(dir, "checkpoints") }

// TestKill kills a writing process without warning, again and again: each call
// that it acknowledged has both its rows, and the whole verifies.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	acknowledged := make(map[uint64]string) // by row: session and number
	kills := []int{1, 300, 700}
	if testing.Short() {
		kills = []int{1, 100}
	}
	for _, calls := range kills {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), childDir+"="+dir)
		cmd.Stderr = os.Stderr
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		count := 0
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			var session, n int
			var seq uint64
			if _, err := fmt.Sscanf(lines.Text(), "called %d %d %d <nil>", &session, &n, &seq); err != nil {
				t.Fatalf("the child says %q", lines.Text())
			}
			acknowledged[seq] = fmt.Sprintf("%d: w/notes/%d", session, n)
			if count++; count == calls {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the child ended by itself")
		}
		checkKilled(t, dir, acknowledged)
	}
}

func checkKilled(t *testing.T, dir string, acknowledged map[uint64]string) {
	t.Helper()
	st, err := journal.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	key, err := seeded(1)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(t.Context(), st, Options{Key: key, Checkpoints: []string{checkpointsOf(dir)}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	finished := make(map[uint64]bool)
	decided := make(map[uint64]string)
	for row, err := range l.Rows(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if row.Entry == nil {
			finished[row.Of] = true
		} else {
			decided[row.Seq] = row.Session + ": " + row.Needs[0].Resource
		}
	}
	for seq, what := range acknowledged {
		if decided[seq] != what || !finished[seq] {
			t.Fatalf("row %d is %q, finished %v; the call %q was acknowledged", seq, decided[seq], finished[seq], what)
		}
	}
	report, err := l.Verify(t.Context(), []string{checkpointsOf(dir)})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d calls acknowledged; %+v", len(acknowledged), report)
}
