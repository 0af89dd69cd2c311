//go:build linux && !faults

package faults

import (
	"testing"
	"time"
)

// A slice of the drivers, for every run of the tests. They wait for children most of the time.

// slice is so much, and less where the tests are to be short.
func slice[T any](usual, short T) T {
	if testing.Short() {
		return short
	}
	return usual
}

func TestKill(t *testing.T) {
	t.Parallel()
	runKills(t, newTable(t), points(1), slice(3000, 300))
}

func TestClocks(t *testing.T) {
	t.Parallel()
	runClocks(t, newTable(t), 48*time.Hour)
}

func TestDescriptors(t *testing.T) {
	t.Parallel()
	runDescriptors(t, newTable(t), points(1), slice(2*time.Second, time.Second/2))
}

func TestCopy(t *testing.T) {
	t.Parallel()
	runCopies(t, newTable(t), points(1), work{Name: "copied", Lanes: 4, Bulk: 10, Size: 2000})
}

func TestDamage(t *testing.T) {
	t.Parallel()
	project, claims := template(t, work{Name: "small", Lanes: 2, Steps: 6, Bulk: 4, Size: 2000}, true)
	runDamage(t, newTable(t), "killed", project, claims, points(slice(8, 3)))
}
