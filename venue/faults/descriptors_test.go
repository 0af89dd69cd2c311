//go:build linux

package faults

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// runShort works in a new project while descriptors run short.
func runShort(t *testing.T, b *table, fault, point string, w work) {
	if !isWanted(point) {
		return
	}
	dir := t.TempDir()
	w.Project = newProject(t, filepath.Join(dir, "project"))
	tr := trial{project: w.Project, claims: filepath.Join(dir, "claims")}
	tr.before = []ran{runWork(t, w, tr.claims)}
	b.add(fault, point, tr.judge(t.Context()).keep(t, point, tr))
}

// shortFor is work while all descriptors are taken for so long, on and off.
func shortFor(hold, free, all time.Duration) work {
	return work{Name: "short", Lanes: 16, For: all, Bulk: 200, Size: 1000, Hog: &hog{Limit: 256, Hold: hold, Free: free}}
}

// runDescriptors runs short for moments, so many times.
func runDescriptors(t *testing.T, b *table, runs int, all time.Duration) {
	r := drawn(2)
	for n := range runs {
		hold := time.Duration(20+r.IntN(200)) * time.Millisecond
		free := time.Duration(20+r.IntN(200)) * time.Millisecond
		point := fmt.Sprintf("run %d: none for %s, enough for %s", n, hold, free)
		runShort(t, b, "descriptors short for moments", point, shortFor(hold, free, all))
	}
}
