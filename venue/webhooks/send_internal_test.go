package webhooks

import (
	"testing"
	"time"
)

// A pause is three times as long as the one before, give or take half of it.
func TestPausesGrow(t *testing.T) {
	for tries, about := range map[int]time.Duration{1: firstPause, 2: 3 * firstPause, 12: maxPause, 1000: maxPause} {
		if d := pause(tries); d < about/2 || d > about*3/2+1 {
			t.Errorf("pause(%d) = %s, want %s, give or take half of it", tries, d, about)
		}
	}
}
