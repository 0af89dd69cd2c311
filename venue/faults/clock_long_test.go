//go:build linux && faults

package faults

import (
	"testing"
	"time"
)

// The clock is ahead or behind at one opening.
func TestClocks(t *testing.T) {
	const day = 24 * time.Hour
	runClocks(t, newTable(t), 2*time.Hour, 2*day, 40*day, 4000*day, -2*time.Hour, -2*day, -400*day)
}
