//go:build linux

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"usher/venue/cli"
	"usher/venue/venuetest"
)

// role is set in a child: what it is to be.
const role = "USHER_FAULTS_ROLE"

// TestMain lets the test binary stand in for the usher command, and for the programs that work in a
// venue and that compare.
func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "usher":
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		status := (&cli.Program{Interrupts: true}).Run(ctx, os.Args[1:])
		stop()
		os.Exit(status)
	case "work":
		os.Exit(workChild())
	case "check":
		os.Exit(checkChild())
	}
	os.Exit(m.Run())
}

// patience is how long a child may take. One that takes longer hangs.
const patience = 2 * time.Minute

// ran is a child that has ended.
type ran struct {
	name     string
	out, err string
	status   int
	crash    string // why it counts as crashed; empty where it does not
}

// told is what a child said that failed in an orderly manner.
func (r ran) told() string {
	if r.status == 0 {
		return ""
	}
	return strings.TrimSpace(r.err)
}

// self is the test binary as a child in a role.
func self(ctx context.Context, as string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), role+"="+as)
	if os.Getenv("GORACE") == "" { // otherwise each child waits a second at its end
		cmd.Env = append(cmd.Env, "GORACE=atexit_sleep_ms=10")
	}
	return cmd
}

// finish runs a command to its end.
func finish(ctx context.Context, name string, cmd *exec.Cmd) ran {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	r := ran{name: name, out: out.String(), err: errs.String(), status: cmd.ProcessState.ExitCode()}
	var exit *exec.ExitError
	switch state, _ := cmd.ProcessState.Sys().(syscall.WaitStatus); {
	case ctx.Err() != nil:
		r.crash = "hangs"
	case state.Signaled():
		r.crash = "died of " + state.Signal().String()
	case err != nil && !errors.As(err, &exit):
		r.crash = err.Error()
	case r.status != 0 && r.status != 1:
		r.crash = fmt.Sprintf("exit status %d", r.status)
	case isDump(r.err):
		r.crash = "printed a dump"
	case r.status == 1 && r.told() == "":
		r.crash = "failed without a word"
	}
	if r.crash != "" {
		r.crash = name + " " + r.crash + ": " + brief(r.err)
	}
	return r
}

// isDump reports whether a process printed its stacks: Go's runtime does, and Badger before it ends
// a process, and so does the log of an operation that panicked.
func isDump(text string) bool {
	return strings.Contains(text, "\ngoroutine ") || strings.Contains(text, "badger/v4/y.AssertTrue") || strings.Contains(text, "tool panicked")
}

// brief is the part of a text that says most, on one line.
func brief(text string) string {
	const enough = 300
	for _, mark := range []string{"tool panicked", "panic: ", "unexpected fault address", "fatal error: "} {
		if _, after, found := strings.Cut(text, mark); found {
			text = mark + after
			break
		}
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > enough {
		text = text[:enough] + " …"
	}
	return text
}

// usher runs the command in a project's folder.
func usher(ctx context.Context, project string, args ...string) ran {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := self(ctx, "usher", args...)
	cmd.Dir = project
	return finish(ctx, "usher "+strings.Join(args, " "), cmd)
}

// newProject makes a project as `usher init` does.
func newProject(t *testing.T, dir string) string {
	t.Helper()
	if r := usher(t.Context(), filepath.Dir(dir), "init", filepath.Base(dir)); r.status != 0 {
		t.Fatalf("%s: %s", r.name, r.err)
	}
	return dir
}

// dataOf is the data folder of a project.
func dataOf(project string) string { return filepath.Join(project, ".usher") }

// copyProject copies a project's folder, as `cp -r` does: a file that goes meanwhile is left out.
func copyProject(t *testing.T, from, to string) string {
	t.Helper()
	if err := venuetest.CopyFolder(from, to); err != nil {
		t.Fatal(err)
	}
	return to
}

// mustJSON encodes what always encodes.
func mustJSON(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}
