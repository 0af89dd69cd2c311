//go:build linux

package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// runCopies copies a project's folder while it is written, and holds each copy against what was
// acknowledged before it was begun.
func runCopies(t *testing.T, b *table, copies int, w work) {
	dir := t.TempDir()
	w.Project = newProject(t, filepath.Join(dir, "project"))
	all := filepath.Join(dir, "claims")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := begin(ctx, t, w, all)
	r := drawn(7)
	for n := range copies {
		if !c.until(noted, c.said(noted)+50+r.IntN(1000)) {
			t.Fatalf("the child ended: %s", c.errs.String())
		}
		point := fmt.Sprintf("copy %d", n)
		tr := trial{project: filepath.Join(dir, point), claims: filepath.Join(dir, point+".claims"), mayTell: true}
		before, err := readClaimFile(all)
		if err != nil {
			t.Fatal(err)
		}
		copyProject(t, w.Project, tr.project)
		after, err := readClaimFile(all)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range after[len(before):] {
			if c.Kind == toDelete {
				before = append(before, c)
			}
		}
		var lines []byte
		for _, c := range before {
			lines = append(append(lines, mustJSON(c)...), '\n')
		}
		if err := os.WriteFile(tr.claims, lines, 0o600); err != nil {
			t.Fatal(err)
		}
		b.add("copied while it is written", point, tr.judge(t.Context()).keep(t, point, tr))
		if err := os.RemoveAll(tr.project); err != nil {
			t.Fatal(err)
		}
	}
	_ = c.cmd.Process.Kill()
	c.end(ctx, true)
}
