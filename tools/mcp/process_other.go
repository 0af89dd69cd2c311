//go:build !unix

package mcp

import "os/exec"

func alone(*exec.Cmd) {}

func terminate(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // there is no gentler way

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
