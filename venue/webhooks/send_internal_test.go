package webhooks

import "testing"

func TestPausesGrow(t *testing.T) {
	for tries, most := range map[int]int{1: 8, 2: 23, 12: 5400, 1000: 5400} {
		if d := pause(tries); d.Seconds() < float64(most)/3.1 || d.Seconds() > float64(most) {
			t.Errorf("pause(%d) = %s, want at most %d s", tries, d, most)
		}
	}
}
