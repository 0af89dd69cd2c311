//go:build linux && !faults

package faults

import (
	"testing"
	"time"
)

// A slice of the drivers, for every run of the tests. They wait for children most of the time.

func TestKill(t *testing.T) {
	t.Parallel()
	runKills(t, newTable(t), points(1))
}

func TestClocks(t *testing.T) {
	t.Parallel()
	runClocks(t, newTable(t), 48*time.Hour)
}

func TestDescriptors(t *testing.T) {
	t.Parallel()
	runDescriptors(t, newTable(t), points(1), 2*time.Second)
}

func TestCopy(t *testing.T) {
	t.Parallel()
	runCopies(t, newTable(t), points(1), work{Name: "copied", Lanes: 4, Bulk: 10, Size: 2000})
}

func TestDamage(t *testing.T) {
	t.Parallel()
	usual := 8
	if testing.Short() {
		usual = 3
	}
	project, claims := template(t, work{Name: "small", Lanes: 2, Steps: 6, Bulk: 4, Size: 2000}, true)
	runDamage(t, newTable(t), "killed", project, claims, points(usual))
}
