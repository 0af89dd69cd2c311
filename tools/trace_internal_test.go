package tools

import (
	"testing"

	"usher/caps"
)

// A gate that nobody watches spends nothing on it.
func TestUnwatchedDecisionsCostNothing(t *testing.T) {
	g, _ := NewGate(new(Registry), nil)
	ctx := t.Context()
	denial := error(&caps.Denial{})
	var r Ruling
	got := testing.AllocsPerRun(100, func() {
		deciding, span := g.watch.start(ctx)
		g.show(deciding, span, &r, nil)
		g.show(deciding, span, &r, denial)
	})
	if got != 0 {
		t.Errorf("%.0f allocations", got)
	}
}
