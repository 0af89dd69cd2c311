//go:build linux && faults

package faults

import "testing"

// grown is work that leaves a folder with tables, some of which came of a compaction.
var grown = work{Name: "grown", Lanes: 8, Steps: 40, Bulk: 30, Size: 4000}

// Every file of a folder, of a venue that was closed and of one that was killed.
func TestDamage(t *testing.T) {
	b := newTable(t)
	for _, how := range []string{"closed", "killed"} {
		project, claims := template(t, grown, how == "killed")
		runDamage(t, b, how, project, claims, points(500)/2)
	}
}
