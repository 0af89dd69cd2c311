package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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

// A run that is killed loses nothing that it had acknowledged.
func TestKillDuringRun(t *testing.T) {
	dir := t.TempDir()
	if status := (&cli.Program{Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer)}).Run(t.Context(), []string{"init", dir}); status != cli.ExitOK {
		t.Fatalf("usher init: exit status %d", status)
	}
	project, err := os.OpenFile(filepath.Join(dir, "usher.yaml"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := project.WriteString("\nlimits: {model_calls: 5000}\n"); err != nil {
		t.Fatal(err)
	}
	if err := project.Close(); err != nil {
		t.Fatal(err)
	}
	var message strings.Builder
	writes, enough := 2000, 100
	if testing.Short() {
		writes, enough = 500, 25
	}
	for n := range writes {
		fmt.Fprintf(&message, "write w/notes/n%d %d\n", n, n)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "run", "-c", filepath.Join(dir, "usher.yaml"), "--session", "killed", "scribe", "-")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stdin = strings.NewReader(message.String())
	notes, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	acknowledged := 0
	for lines := bufio.NewScanner(notes); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "✓ v/ops/covia/write") {
			if acknowledged++; acknowledged == enough {
				_ = cmd.Process.Kill()
			}
		}
	}
	if err := cmd.Wait(); err == nil || acknowledged < enough {
		t.Fatalf("the run ended by itself (%v) after %d writes", err, acknowledged)
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
}
