//go:build linux && faults

package faults

import "testing"

// System calls fail, one at a time.
func TestSystemCalls(t *testing.T) {
	b := newTable(t)
	for _, s := range traceables(t) {
		for _, e := range []string{"EIO", "ENOSPC", "EMFILE"} {
			inject(t, b, s, e, "error="+e, 4)
		}
	}
}

// System calls kill, and so does a driver that has seen enough.
func TestKill(t *testing.T) {
	b := newTable(t)
	runKills(t, b, points(40))
	for _, s := range traceables(t) {
		inject(t, b, s, "kill", "signal=KILL", 4)
	}
}
