package tools

import (
	"testing"

	"usher/caps"
)

// A gate that nobody observes spends nothing on it.
func TestUnobservedDecisionsCostNothing(t *testing.T) {
	g, _ := NewGate(new(Registry), nil)
	ctx := t.Context()
	denial := error(&caps.Denial{})
	var r Ruling
	got := testing.AllocsPerRun(100, func() {
		_, decided := g.observe(ctx)
		decided(&r, nil)
		decided(&r, denial)
	})
	if got != 0 {
		t.Errorf("%.0f allocations", got)
	}
}
