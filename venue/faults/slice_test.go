//go:build linux && !faults

package faults

import (
	"testing"
	"time"
)

// A slice of the drivers, for every run of the tests.

func TestKill(t *testing.T) { runKills(t, newTable(t), points(2)) }

func TestClocks(t *testing.T) { runClocks(t, newTable(t), 48*time.Hour, -48*time.Hour) }
