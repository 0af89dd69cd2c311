//go:build linux

package faults

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// child is a child that works.
type child struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	errs   bytes.Buffer
	claims *os.File      // what it printed
	done   chan struct{} // closed when it prints no more

	mu    sync.Mutex
	kinds map[string]int // claims so far
	last  claim
	moved chan struct{} // closed at the next claim
}

// begin starts a child that works, under a command such as strace where one is given. What it prints
// is added to the file of claims.
func begin(ctx context.Context, t *testing.T, w work, claims string, wrapped ...string) *child {
	t.Helper()
	cmd := self(ctx, "work")
	if len(wrapped) > 0 {
		outer := exec.CommandContext(ctx, wrapped[0], append(wrapped[1:], cmd.Args...)...)
		outer.Env = cmd.Env
		cmd = outer
	}
	cmd.Env = append(cmd.Env, job+"="+string(mustJSON(w)))
	c := &child{cmd: cmd, done: make(chan struct{}), kinds: map[string]int{}, moved: make(chan struct{})}
	cmd.Stderr = &c.errs
	out, err := cmd.StdoutPipe()
	if err == nil {
		c.stdin, err = cmd.StdinPipe()
	}
	if err == nil {
		c.claims, err = os.OpenFile(claims, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go c.follow(out)
	return c
}

func (c *child) follow(out io.Reader) {
	defer close(c.done)
	_ = readClaims(out, func(said claim) {
		_, err := c.claims.Write(append(mustJSON(said), '\n'))
		if err != nil {
			panic(err)
		}
		c.mu.Lock()
		c.kinds[said.Kind]++
		c.last = said
		close(c.moved)
		c.moved = make(chan struct{})
		c.mu.Unlock()
	})
}

// until waits for so many claims of a kind, and reports whether they came.
func (c *child) until(kind string, n int) bool {
	for {
		c.mu.Lock()
		has, moved := c.kinds[kind], c.moved
		c.mu.Unlock()
		if has >= n {
			return true
		}
		select {
		case <-moved:
		case <-c.done:
			return false
		}
	}
}

// said is how many claims of a kind came so far.
func (c *child) said(kind string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kinds[kind]
}

// end waits for the child's end. A kill counts as no crash where it was meant.
func (c *child) end(ctx context.Context, killed bool) ran {
	<-c.done
	_ = c.cmd.Wait()
	_ = c.claims.Close()
	r := ran{name: "the working child", err: c.errs.String(), status: c.cmd.ProcessState.ExitCode()}
	switch state, _ := c.cmd.ProcessState.Sys().(syscall.WaitStatus); {
	case ctx.Err() != nil:
		r.crash = "hangs"
	case killed && (state.Signaled() && state.Signal() == syscall.SIGKILL || r.status == 128+int(syscall.SIGKILL)):
		r.status = 0
	case state.Signaled():
		r.crash = "died of " + state.Signal().String()
	case r.status != 0 && r.status != 1:
		r.crash = fmt.Sprintf("exit status %d", r.status)
	case isDump(r.err):
		r.crash = "printed a dump"
	case r.status == 1 && c.said(opened) > 0:
		r.crash = "was ended from within"
	}
	if r.crash != "" {
		r.crash = r.name + " " + r.crash + ": " + brief(r.err)
	}
	return r
}

// runWork has a child work to its end.
func runWork(t *testing.T, w work, claims string, wrapped ...string) ran {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return begin(ctx, t, w, claims, wrapped...).end(ctx, false)
}

// template is a project that was worked in, to be copied: its folder, and what was claimed.
func template(t *testing.T, w work, kill bool) (project, claims string) {
	t.Helper()
	dir := t.TempDir()
	project, claims = newProject(t, filepath.Join(dir, "project")), filepath.Join(dir, "claims")
	workIn(t, project, claims, w, kill)
	return project, claims
}

// workIn works in a project, and ends by itself or by a kill.
func workIn(t *testing.T, project, claims string, w work, kill bool) {
	t.Helper()
	w.Project = project
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	steps := w.Steps * max(w.Lanes, 1)
	if kill {
		w.Steps = 0
	}
	c := begin(ctx, t, w, claims)
	if kill {
		if !c.until(turned, steps) {
			t.Errorf("the child ended before it was killed")
		}
		_ = c.cmd.Process.Kill()
	}
	if r := c.end(ctx, kill); r.crash != "" || r.status != 0 {
		t.Fatalf("%s: status %d, %s\n%s", r.name, r.status, r.crash, r.err)
	}
	if n := c.said(failed); n > 0 && !kill {
		t.Fatalf("%d failures without a fault, the last: %s", n, c.last.Text)
	}
}
