//go:build linux && faults

package faults

import "testing"

// grown is work that leaves a folder with tables, some of which came of a compaction.
var grown = work{Name: "grown", Lanes: 8, Steps: 40, Bulk: 30, Size: 4000}

// large is work after which a snapshot is due. It waits for that.
var large = work{Name: "large", Lanes: 8, Steps: 20, Bulk: 60, Size: 40_000, Until: "snapshots/*"}

// Every file of a folder: of a venue that was closed, of one that was killed, and of one that was
// closed once it had a snapshot, and went on.
func TestDamage(t *testing.T) {
	b := newTable(t)
	for _, how := range []string{"closed", "killed"} {
		project, claims := template(t, grown, how == "killed")
		runDamage(t, b, how, project, claims, points(500)*2/5)
	}
	project, claims := template(t, large, false)
	workIn(t, project, claims, work{Name: "later", Lanes: 2, Steps: 4, Bulk: 10, Size: 4000}, true)
	runDamage(t, b, "with a snapshot", project, claims, points(500)/5)
}
