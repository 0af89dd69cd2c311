//go:build linux && faults

package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// unshared is set where the test runs in a user namespace of its own, in which it may mount.
const unshared = "USHER_FAULTS_UNSHARED"

// A file system is full: by the venue's own writing, and by another process.
func TestFullDisk(t *testing.T) {
	if err := mount(t, 1); errors.Is(err, syscall.EPERM) && os.Getenv(unshared) == "" {
		again := exec.CommandContext(t.Context(), "unshare", "-rm", os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
		again.Env = append(os.Environ(), unshared+"=1")
		out, err := again.CombinedOutput()
		t.Logf("%s", out)
		if err != nil {
			t.Errorf("in a user namespace: %v (to mount a file system, run the test as root)", err)
		}
		return
	} else if err != nil {
		t.Fatal(err)
	}
	b := newTable(t)
	for _, mb := range []int64{12, 64, 200} {
		for _, by := range []string{"the venue", "another process"} {
			if point := fmt.Sprintf("%d MB, filled by %s", mb, by); isWanted(point) {
				fillUp(t, b, point, mb, by == "the venue")
			}
		}
	}
}

// mount puts a file system of that many megabytes at a folder, until the test ends.
func mount(t *testing.T, mb int64, at ...string) error {
	t.Helper()
	dir := append(at, t.TempDir())[0]
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", mb))
	if err == nil {
		t.Cleanup(func() {
			if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
	}
	return err
}

// ballast is a file that takes space and can be removed. Without a size it takes all there is.
func ballast(t *testing.T, name string, size int64) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	chunk := make([]byte, 64<<10)
	for written := int64(0); size == 0 || written < size; written += int64(len(chunk)) {
		_, err := f.Write(chunk)
		for len(chunk) > 512 && errors.Is(err, syscall.ENOSPC) { // to the last block
			chunk = chunk[:len(chunk)/2]
			_, err = f.Write(chunk)
		}
		if errors.Is(err, syscall.ENOSPC) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// fillUp has a child work until the disk is full, gives it space again, and fills the disk once more
// for the commands.
func fillUp(t *testing.T, b *table, point string, mb int64, byItself bool) {
	disk, dir := t.TempDir(), t.TempDir()
	if err := mount(t, mb, disk); err != nil {
		t.Fatal(err)
	}
	tr := trial{project: newProject(t, filepath.Join(disk, "project")), claims: filepath.Join(dir, "claims")}
	fault, taken := "full disk", filepath.Join(disk, "ballast")
	w := work{Project: tr.project, Name: "full", Lanes: 4, Bulk: 20, Size: 20_000, Patient: true}
	if byItself {
		ballast(t, taken, mb<<20/2)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := begin(ctx, t, w, tr.claims)
	if !byItself {
		c.until(noted, 50)
		ballast(t, taken, 0)
	}
	wasFull := c.until(full, 1)
	before := c.said(noted)
	if err := os.Remove(taken); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(c.stdin, "\n")
	tr.before = []ran{c.end(ctx, false)}
	v := verdict{is: ok}
	if e := tr.before[0]; e.crash == "" && e.status == 1 {
		v = verdict{is: told}
		if c.said(opened) > 0 || !speaksOfSpace(e.err) {
			v.why = "the child ended: " + brief(e.err)
		}
		b.add(fault, point, v)
		return // there is no venue in so small a disk
	} else if e.crash == "" && (!wasFull || c.said(noted) == before) {
		v = verdict{lost, "writing did not come back with the space; the last that was said: " + c.last.Text}
	}

	ballast(t, taken, 0)
	for _, args := range [][]string{{"audit", "verify"}, {"sessions", "list", "scribe"}, {"run", "scribe", "write w/notes/full 1"}} {
		r := usher(t.Context(), tr.project, args...)
		tr.before = append(tr.before, r)
		if r.status != 0 && r.crash == "" && !speaksOfSpace(r.err) {
			v = verdict{told, r.name + " on a full disk says nothing of space: " + brief(r.err)}
		}
	}
	if err := os.Remove(taken); err != nil {
		t.Fatal(err)
	}
	// What the venue itself has written may be more than leaves it room to write: it is judged where
	// there is room.
	tr.project = copyProject(t, tr.project, filepath.Join(dir, "project"))
	if after := tr.judge(t.Context()); v.why == "" || after.is == crashed || after.is == lost || after.is == silent {
		v = after
	}
	b.add(fault, point, v.keep(t, point, tr))
}

// speaksOfSpace reports whether a message says what the matter is.
func speaksOfSpace(text string) bool {
	for _, word := range []string{"no space", "free space", "disk"} {
		if strings.Contains(strings.ToLower(text), word) {
			return true
		}
	}
	return false
}
