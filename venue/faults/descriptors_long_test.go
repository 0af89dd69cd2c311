//go:build linux && faults

package faults

import (
	"testing"
	"time"
)

// The descriptors of the process run short, for moments and for seconds.
func TestDescriptors(t *testing.T) {
	b := newTable(t)
	runDescriptors(t, b, points(10), 15*time.Second)
	seconds := shortFor(5*time.Second, time.Second, 9*time.Second)
	seconds.Hog.Once = true
	runShort(t, b, "descriptors short for seconds", "none for 5s", seconds)
}
