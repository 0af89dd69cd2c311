//go:build !windows

package cli_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

// onTerminal runs a command on a terminal and returns what it drew.
func onTerminal(t *testing.T, dir string, args ...string) string {
	t.Helper()
	s := chat(t, dir, func(c *exec.Cmd) { c.Args = append([]string{"usher"}, args...) })
	timer := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	defer timer.Stop()
	_ = s.cmd.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.over {
		s.more.Wait()
	}
	return string(s.text)
}

// What an agent says of itself neither acts on the terminal nor forges a row.
func TestADescriptionForgesNothing(t *testing.T) {
	dir := newModel(t).project(t)
	onTerminal(t, dir, "agents", "create", "bob", "--spec", `{"caps":[],"description":"\u009b2J\u202eevil\nroot     SLEEPING  (none)"}`)
	for _, args := range [][]string{
		{"agents", "list", "--json"},
		{"agents", "show", "bob", "--json"},
		{"agents", "list"},
		{"agents", "show", "bob"},
		{"run", "bob", "x", "--json"},
	} {
		got := onTerminal(t, dir, args...)
		if strings.Contains(got, "\u009b") || strings.Contains(got, "\u202e") {
			t.Errorf("%v: a control sequence reaches the terminal: %q", args, got)
		}
		for line := range strings.Lines(got) {
			if strings.HasPrefix(line, "root ") {
				t.Errorf("%v: a row is forged: %q", args, line)
			}
		}
	}
	if got := onTerminal(t, dir, "agents", "list"); !strings.Contains(got, "evil root") {
		t.Errorf("the description is not listed: %q", got)
	}
}
