//go:build linux && faults

package faults

import (
	"testing"
	"time"
)

// The long drivers. See slice_test.go for what each run of the tests has of them, and disk_test.go
// for the full disk.

// grown is work that leaves a folder with tables, some of which came of a compaction.
var grown = work{Name: "grown", Lanes: 8, Steps: 40, Bulk: 30, Size: 4000}

// large is work after which a snapshot is due. It waits for that.
var large = work{Name: "large", Lanes: 8, Steps: 20, Bulk: 60, Size: 40_000, Until: "snapshots/*"}

// The descriptors of the process run short, for moments and for seconds.
func TestDescriptors(t *testing.T) {
	b := newTable(t)
	runDescriptors(t, b, points(10), 15*time.Second)
	seconds := shortFor(5*time.Second, time.Second, 9*time.Second)
	seconds.Hog.Once = true
	runShort(t, b, "descriptors short for seconds", "none for 5s", seconds)
}

// System calls fail, one at a time.
func TestSystemCalls(t *testing.T) {
	b := newTable(t)
	for _, s := range traceables(t) {
		for _, e := range []string{"EIO", "ENOSPC", "EMFILE"} {
			s.inject(t, b, e, "error="+e, 4)
		}
	}
}

// Every file of a folder: of a venue that was closed, of one that was killed, and of one that had a
// snapshot, went on, and was killed.
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

// A driver that has seen enough kills, and so does each system call.
func TestKill(t *testing.T) {
	b := newTable(t)
	runKills(t, b, points(40), 3000)
	for _, s := range traceables(t) {
		s.inject(t, b, "kill", "signal=KILL", 4)
	}
}

// The folder is copied while it is written: quietly, and so fast that tables are made meanwhile.
func TestCopy(t *testing.T) {
	b := newTable(t)
	runCopies(t, b, points(20), work{Name: "slow", Lanes: 4, Bulk: 2, Size: 2000})
	runCopies(t, b, points(20), work{Name: "fast", Lanes: 16, Bulk: 100, Size: 4000})
}

// The clock is ahead or behind at one opening.
func TestClocks(t *testing.T) {
	const day = 24 * time.Hour
	runClocks(t, newTable(t), 2*time.Hour, 2*day, 40*day, 4000*day, -2*time.Hour, -2*day, -400*day)
}
