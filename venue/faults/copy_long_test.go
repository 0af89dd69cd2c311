//go:build linux && faults

package faults

import "testing"

// The folder is copied while it is written: quietly, and so fast that tables are made meanwhile.
func TestCopy(t *testing.T) {
	b := newTable(t)
	runCopies(t, b, points(20), work{Name: "slow", Lanes: 4, Bulk: 2, Size: 2000})
	runCopies(t, b, points(20), work{Name: "fast", Lanes: 16, Bulk: 100, Size: 4000})
}
