package workspace_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"

	"usher/caps"
	"usher/tools/workspace"
	"usher/venue/store/journal"
)

// childDir is set in the process that TestKill starts: it writes there until it is killed.
const childDir = "USHER_WORKSPACE_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		fmt.Println("error", writeUntilKilled(dir))
		return
	}
	debug.SetGCPercent(400) // its documents are large, and soon forgotten
	os.Exit(m.Run())
}

// version is a document that takes many steps to store, with the number all over it.
func version(n int) []any {
	doc := make([]any, 6000)
	for i := range doc {
		doc[i] = map[string]any{"n": n, "text": strings.Repeat("x", 100)}
	}
	return doc
}

// writeUntilKilled replaces a large document and changes a small one, and says each that is done.
func writeUntilKilled(dir string) error {
	s, err := journal.Open(dir, nil)
	if err != nil {
		return err
	}
	tree := workspace.NewTree(s, nil)
	doc, err := caps.ParseResource("w/doc")
	if err != nil {
		return err
	}
	log, err := caps.ParseResource("w/log")
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		if err := tree.Put(context.Background(), alice, doc, version(n)); err != nil {
			return err
		}
		if err := tree.Append(context.Background(), alice, log, n); err != nil {
			return err
		}
		fmt.Println("done", n)
	}
}

// TestKill kills a writing process: what it said is done is there, what it was at is there as a
// whole or not at all, and no garbage stays.
func TestKill(t *testing.T) {
	for _, after := range []int{1, 4}[:rounds(2, 1)] {
		dir := t.TempDir()
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
		done := 0
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			if _, err := fmt.Sscanf(lines.Text(), "done %d", &done); err != nil {
				t.Fatalf("child says %q", lines.Text())
			}
			if done == after {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait() // killed
		checkAfterKill(t, dir, done)
	}
}

func checkAfterKill(t *testing.T, dir string, done int) {
	t.Helper()
	s, err := journal.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tree := workspace.NewTree(s, nil)
	defer tree.Close()
	var doc []struct{ N int }
	if err := json.Unmarshal([]byte(get(t, tree, alice, "w/doc")), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc) != 6000 || doc[0].N < done || doc[0].N > done+1 {
		t.Fatalf("%d elements of version %d, acknowledged was %d", len(doc), doc[0].N, done)
	}
	for _, e := range doc {
		if e.N != doc[0].N {
			t.Fatalf("versions %d and %d in one document", doc[0].N, e.N)
		}
	}
	var log []int
	if err := json.Unmarshal([]byte(get(t, tree, alice, "w/log")), &log); err != nil || len(log) < done {
		t.Fatalf("log is %v, %v; acknowledged was %d", log, err, done)
	}
	if err := tree.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkStore(t, t, s.Store)
	t.Logf("killed after %d, found %d", done, doc[0].N)
}
