//go:build linux

package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// runKills kills a child that works, again and again in the same folder, after as many
// acknowledgements as are drawn, fewer than most. Each time a copy of the folder is judged.
func runKills(t *testing.T, b *table, kills, most int) {
	dir := t.TempDir()
	tr := trial{claims: filepath.Join(dir, "claims")}
	project := newProject(t, filepath.Join(dir, "project"))
	r := drawn(6)
	for n := range kills {
		point := fmt.Sprintf("kill %d", n)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		c := begin(ctx, t, work{Project: project, Name: fmt.Sprintf("k%d", n), Lanes: 8, Bulk: 20, Size: 4000}, tr.claims)
		if !c.until(noted, r.IntN(most)) {
			t.Errorf("%s: the child ended first: %s", point, c.errs.String())
		}
		_ = c.cmd.Process.Kill()
		tr.before = []ran{c.end(ctx, true)}
		cancel()
		tr.project = copyProject(t, project, filepath.Join(dir, point))
		b.add("killed after acknowledgements", point, tr.judge(t.Context()).keep(t, point, tr))
		if err := os.RemoveAll(tr.project); err != nil {
			t.Fatal(err)
		}
	}
}
