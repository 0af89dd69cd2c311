//go:build linux

package cli_test

import (
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A command that is killed leaves its terminal as it was, and takes no key after that;
// others on the same venue go on.
func TestATerminalWhoseCommandIsKilled(t *testing.T) {
	m := newModel(t)
	dir := m.project(t)
	keep(t, dir)
	s, other := chat(t, dir, nil), chat(t, dir, nil, "--session", "other")
	s.ready()
	other.ready()
	echoes := func() bool {
		is, err := unix.IoctlGetTermios(int(s.keys.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		return is.Lflag&unix.ECHO != 0
	}
	if echoes() {
		t.Fatal("the editor does not draw for itself")
	}
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); !echoes(); {
		if time.Now().After(end) {
			t.Fatal("the terminal stays as the editor had it")
		}
		ran(t, dir, "", nil, "agents", "list")
	}
	other.press("hello\r")
	other.see("You said something.")
	other.ready()
	other.press("\x04")
	other.ends(0)
}

// A venue that is kept in the background of a terminal serves the commands of that
// terminal, and ends with it.
func TestUpInTheBackgroundOfATerminal(t *testing.T) {
	m := newModel(t)
	dir := m.project(t)
	if err := syscall.Mkfifo(filepath.Join(dir, "ready"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := chat(t, dir, func(cmd *exec.Cmd) {
		cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-mc", "usher up --json >ready & read up <ready && echo $up && usher chat clerk; kill %1; wait %1; echo status $?"}
	})
	s.see(`"pid"`)
	s.ready()
	s.press("tool\r")
	s.see("✓", "Written.")
	s.ready()
	s.press("\x04")
	s.see("stopping", "status 0")
	s.ends(0)
}
