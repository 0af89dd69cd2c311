//go:build unix

package mcp

import (
	"os/exec"
	"syscall"
)

// alone has the process lead a group of its own: Ctrl-C at a terminal is not for it, and
// what it starts ends with it.
func alone(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func terminate(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
