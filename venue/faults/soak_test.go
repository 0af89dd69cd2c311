//go:build linux && faults

package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// most is the resident memory in KB that 64 sessions may take.
const most = 256 << 10

// TestSoak has 64 sessions work for USHER_FAULTS_POINTS minutes, 5 where nothing is said, and prints
// what they take.
func TestSoak(t *testing.T) {
	minutes := points(5)
	dir := t.TempDir()
	project := newProject(t, filepath.Join(dir, "project"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(minutes+2)*time.Minute)
	defer cancel()
	c := begin(ctx, t, work{Project: project, Name: "soak", Lanes: 64, For: time.Duration(minutes) * time.Minute}, filepath.Join(dir, "claims"))
	if !c.until(turned, 1) {
		t.Fatal(c.end(ctx, false))
	}
	tick := time.NewTicker(15 * time.Second)
	defer tick.Stop()
	t.Log("     turns  resident   memory    files  descriptors      disk")
	for {
		select {
		case <-c.done:
			if r := c.end(ctx, false); r.crash != "" || r.status != 0 {
				t.Errorf("%s: %s", r.crash, r.err)
			}
			return
		case <-tick.C:
		}
		pid := c.cmd.Process.Pid
		all, memory, files := resident(t, pid)
		open, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		t.Logf("%10d %6d MB %5d MB %5d MB %12d %6d MB", c.said(turned), all>>10, memory>>10, files>>10, len(open), bytesBelow(project)>>20)
		if all > most {
			t.Errorf("%d MB are resident, want at most %d", all>>10, most>>10)
		}
	}
}

// resident is the memory of a process that is in use, in KB: all, its own, and of mapped files.
func resident(t *testing.T, pid int) (all, memory, files int) {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, 0 // it has just ended
	}
	for line := range strings.Lines(string(raw)) {
		for name, n := range map[string]*int{"VmRSS:": &all, "RssAnon:": &memory, "RssFile:": &files} {
			if rest, found := strings.CutPrefix(line, name); found {
				if _, err := fmt.Sscan(rest, n); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return all, memory, files
}

func bytesBelow(dir string) (sum int64) {
	_ = filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() { // files come and go
			sum += info.Size()
		}
		return nil
	})
	return sum
}
