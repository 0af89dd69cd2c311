//go:build linux

package faults

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// runClocks opens a project by a clock that is off, works in it, and opens it by the right one again.
// Bob's tokens may have ended meanwhile, and what was revoked stays so.
func runClocks(t *testing.T, b *table, off ...time.Duration) {
	project, claims := template(t, work{Name: "before", Lanes: 2, Steps: 8, Bulk: 2}, false)
	list, err := readClaimFile(claims)
	if err != nil {
		t.Fatal(err)
	}
	var held []byte
	for _, c := range list {
		if c.Kind != granted {
			held = append(append(held, mustJSON(c)...), '\n')
		}
	}
	for _, skew := range off {
		point := "opened at " + skew.String()
		if !isWanted(point) {
			continue
		}
		dir := t.TempDir()
		tr := trial{project: copyProject(t, project, filepath.Join(dir, "project")), claims: filepath.Join(dir, "claims")}
		if err := os.WriteFile(tr.claims, held, 0o600); err != nil {
			t.Fatal(err)
		}
		tr.before = []ran{runWork(t, work{Project: tr.project, Name: "off", Lanes: 2, Steps: 8, Bulk: 2, Skew: skew}, tr.claims)}
		b.add("a clock that is off", point, tr.judge(t.Context()).keep(t, point, tr))
	}
}
