package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"usher/runtime"
	"usher/tools"
	"usher/tools/fault"
	"usher/venue"
	"usher/venue/cli"
)

const asProgram = "USHER_TEST_AS_PROGRAM"

// TestMain lets the test binary stand in for the usher command.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// project makes a project whose agent may write as much as it is told.
func project(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if status := (&cli.Program{Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer)}).Run(t.Context(), []string{"init", dir}); status != cli.ExitOK {
		t.Fatalf("usher init: exit status %d", status)
	}
	config, err := os.OpenFile(filepath.Join(dir, "usher.yaml"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := config.WriteString("\nlimits: {model_calls: 50000}\n"); err != nil {
		t.Fatal(err)
	}
	if err := config.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// writesUntil has a child write in the session "cut" of a project, and sends it a
// signal once so many writes are acknowledged: long before it has made all of them.
func writesUntil(t *testing.T, dir string, enough int, sent os.Signal) (acknowledged int, said string) {
	t.Helper()
	const most = 10_000
	var message, all strings.Builder
	for n := range most {
		fmt.Fprintf(&message, "write w/notes/n%d %d\n", n, n)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "run", "-c", filepath.Join(dir, "usher.yaml"), "--session", "cut", "scribe", "-")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stdin = strings.NewReader(message.String())
	notes, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(notes); lines.Scan(); {
		all.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), "✓ v/ops/covia/write") {
			if acknowledged++; acknowledged == enough {
				_ = cmd.Process.Signal(sent)
			}
		}
	}
	if err := cmd.Wait(); err == nil || acknowledged < enough {
		t.Fatalf("the run ended by itself (%v) after %d writes", err, acknowledged)
	}
	return acknowledged, all.String()
}

// A run that is killed loses nothing that it had acknowledged, and its session says
// that it was interrupted.
func TestKillDuringRun(t *testing.T) {
	dir := project(t)
	enough := 100
	if testing.Short() {
		enough = 25
	}
	acknowledged, _ := writesUntil(t, dir, enough, os.Kill)

	v, err := venue.Open(t.Context(), &venue.Options{Dir: filepath.Join(dir, ".usher"), Idle: true})
	if err != nil {
		t.Fatal(err)
	}
	me, err := v.User(t.Context(), "me")
	if err != nil {
		t.Fatal(err)
	}
	for n := range acknowledged {
		out, err := me.Invoke(t.Context(), "covia:read", map[string]string{"path": fmt.Sprintf("w/notes/n%d", n)})
		if want := fmt.Sprintf(`{"exists":true,"value":%d}`, n); err != nil || string(out) != want {
			t.Fatalf("acknowledged write %d reads %s, %v", n, out, err)
		}
	}
	decisions := 0
	for row, err := range v.Audit(t.Context(), 1) { // checks the rows
		if err != nil {
			t.Fatal(err)
		}
		if row.Entry != nil && row.Actor == "scribe" && row.Operation == "v/ops/covia/write" {
			decisions++
		}
	}
	if decisions < acknowledged {
		t.Errorf("the ledger has %d of %d acknowledged writes", decisions, acknowledged)
	}
	out, err := me.Invoke(t.Context(), "agent:info", map[string]string{"agentId": "scribe"})
	var info struct {
		Status   string
		Sessions int
	}
	if err != nil || json.Unmarshal(out, &info) != nil || info.Status != "SLEEPING" || info.Sessions != 1 {
		t.Errorf("after the kill scribe is %s, %v; want SLEEPING with its session", out, err)
	}
	list, _, err := me.Runs(t.Context(), "", 1)
	if err != nil || len(list) != 1 {
		t.Fatalf("the runs are %+v, %v", list, err)
	}
	cutRun := list[0].ID
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	const interrupted = "interrupted: the venue stopped before the turn ended"
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"sessions", "show", "scribe", "cut"}, "not finished: " + interrupted},
		{[]string{"runs", "show", cutRun}, interrupted},
		{[]string{"run", "--session", "cut", "scribe", "read w/notes/n0"}, "note: the last turn of session cut is not finished: " + interrupted},
		{[]string{"runs", "show", cutRun}, interrupted},
	} {
		var said bytes.Buffer
		status := (&cli.Program{Stdout: &said, Stderr: &said}).Run(t.Context(), append(tc.args, "-c", filepath.Join(dir, "usher.yaml")))
		if status != cli.ExitOK || !strings.Contains(said.String(), tc.want) {
			t.Errorf("usher %s: exit status %d, want %q in\n%.2000s", tc.args, status, tc.want, said.String())
		}
	}
}

// A signal ends the turn, and the venue with it: nothing is left open.
func TestSignals(t *testing.T) {
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP) // so that no child ignores it, as all do below nohup
	defer signal.Stop(heard)
	for _, sent := range []os.Signal{syscall.SIGHUP, syscall.SIGTERM, os.Interrupt} {
		t.Run(sent.String(), func(t *testing.T) {
			dir := project(t)
			_, said := writesUntil(t, dir, 10, sent)
			if !strings.HasSuffix(said, "usher: interrupted\n") {
				t.Errorf("the run ends with %q", said[max(0, len(said)-200):])
			}
			v, err := venue.Open(t.Context(), &venue.Options{Dir: filepath.Join(dir, ".usher")})
			if err != nil {
				t.Fatal(err)
			}
			defer v.Close()
			me, err := v.User(t.Context(), "me")
			if err != nil {
				t.Fatal(err)
			}
			scribe, err := me.Agent(t.Context(), "scribe")
			if err != nil {
				t.Fatal(err)
			}
			var last runtime.Event
			for e, err := range scribe.History(t.Context(), "cut") {
				if err != nil {
					t.Fatal(err)
				}
				last = e.Event
			}
			if end, ok := last.(runtime.TurnEnd); !ok || end.Code != string(fault.Stopped) {
				t.Errorf("the session ends with %+v, want that the turn was stopped", last)
			}
			open := make(map[uint64]bool)
			for row, err := range v.Audit(t.Context(), 1) {
				switch {
				case err != nil:
					t.Fatal(err)
				case row.Entry == nil:
					delete(open, row.Of)
				case row.Verdict == tools.Allowed:
					open[row.Seq] = true
				}
			}
			if len(open) > 0 {
				t.Errorf("%d decisions have no outcome", len(open))
			}
		})
	}
}
