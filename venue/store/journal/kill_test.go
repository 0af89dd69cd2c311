package journal

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// childDir is set in the process that TestKill starts: it writes there until it is killed.
const childDir = "USHER_STORE_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		writeUntilKilled(dir)
		return
	}
	debug.SetGCPercent(400) // journals are opened and forgotten
	os.Exit(m.Run())
}

// writeUntilKilled runs four writers. Each applies 1, 2, 3, … under its own keys, and says so after
// each.
func writeUntilKilled(dir string) {
	s, err := Open(dir, nil)
	if err != nil {
		fmt.Println("error", err)
		return
	}
	ctx := context.Background()
	var out sync.Mutex
	say := func(what string, writer, n int) {
		out.Lock()
		defer out.Unlock()
		fmt.Println(what, writer, n)
	}
	var wg sync.WaitGroup
	for writer := range 4 {
		wg.Go(func() {
			for n := 1; ; n++ {
				// Two keys in one step: a half-written pair would show. Every fourth value is
				// long enough for the value log.
				value := binary.BigEndian.AppendUint64(make([]byte, 2000*(n%4)/3), uint64(n))
				put := map[string][]byte{pairKey(writer, n, "a"): value, pairKey(writer, n, "b"): value}
				if moved, err := s.Apply(ctx, nil, put, nil); moved != "" || err != nil {
					fmt.Println("error apply", moved, err)
					return
				}
				say("applied", writer, n)
			}
		})
	}
	wg.Wait()
}

func pairKey(writer, n int, half string) string { return fmt.Sprintf("%d/%08d/%s", writer, n, half) }

// TestKill kills a writing process without warning: whatever it had acknowledged is there.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	last := make([]int, 4)
	kills := []int{50, 2000, 4000, 9000}
	if testing.Short() {
		kills = []int{50, 1000}
	}
	for round, acks := range kills {
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
		clear(last)
		lines, count := bufio.NewScanner(stdout), 0
		for lines.Scan() {
			f := strings.Fields(lines.Text())
			if len(f) != 3 || f[0] == "error" {
				t.Fatalf("child says %q", lines.Text())
			}
			writer, err1 := strconv.Atoi(f[1])
			n, err2 := strconv.Atoi(f[2])
			if err1 != nil || err2 != nil {
				t.Fatalf("child says %q", lines.Text())
			}
			last[writer] = max(last[writer], n)
			if count++; count == acks {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("child ended by itself")
		}
		checkRecovered(t, dir, last)
		t.Logf("round %d: killed after %d acknowledgements, up to %v", round, count, last)
	}
}

func checkRecovered(t *testing.T, dir string, last []int) {
	t.Helper()
	s, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for writer, upTo := range last {
		for n := 1; n <= upTo; n++ {
			a, _ := read(t, s, pairKey(writer, n, "a"))
			b, _ := read(t, s, pairKey(writer, n, "b"))
			if len(a) < 8 || a != b || binary.BigEndian.Uint64([]byte(a[len(a)-8:])) != uint64(n) {
				t.Fatalf("writer %d: acknowledged write %d is gone or torn", writer, n)
			}
		}
		// What was not acknowledged may be there, but never as a half.
		n := upTo + 1
		_, a := read(t, s, pairKey(writer, n, "a"))
		_, b := read(t, s, pairKey(writer, n, "b"))
		if a != b {
			t.Fatalf("writer %d: write %d is torn", writer, n)
		}
	}
}

func read(t *testing.T, s *Journal, key string) (string, uint64) {
	t.Helper()
	value, rev, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatalf("Get(%q) = %v", key, err)
	}
	return string(value), rev
}
