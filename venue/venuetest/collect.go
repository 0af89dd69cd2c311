package venuetest

import (
	"os"
	"runtime/debug"
)

// CollectLess has garbage collected a quarter as often, in this process and in those that
// it starts: tests open many venues, and each ends before its memory is needed. What
// measures memory collects first. GOGC wins where it is set.
func CollectLess() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(400)
	_ = os.Setenv("GOGC", "400") // it is no more than a matter of speed
}
