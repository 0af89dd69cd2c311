package ap

import (
	"fmt"
	"strings"
)

// manage is the manager: it reports on the decisions and tells the approver
// that it did. Told to probe the gate, it tries what its capabilities withhold.
func manage(t *turn) any {
	if probing(t.task) {
		return t.try(managerAttempts())
	}
	r, ready := t.call("covia_slice", map[string]any{"path": "w/decisions", "limit": slicePage})
	if !ready {
		return waiting
	}
	var page struct {
		Count  int `json:"count"`
		Values []struct {
			Value decision `json:"value"`
		} `json:"values"`
	}
	if !r.into(&page) {
		return "I could not read the decisions: " + r.problem
	}
	counts := make(map[string]int)
	var open []string
	for _, v := range page.Values {
		d := v.Value
		counts[d.Decision]++
		if d.Decision == escalated && d.EscalateTo != "" {
			open = append(open, fmt.Sprintf("%s of %s over %s waits for %s", d.Invoice, d.Vendor, d.Total.Grouped(), d.EscalateTo))
		}
	}
	report := fmt.Sprintf("%d invoices decided: %d approved, %d escalated, %d rejected.",
		page.Count, counts[approved], counts[escalated], counts[rejected])
	if len(open) > 0 {
		report += " " + strings.Join(open, "; ") + "."
	}
	sent, ready := t.call("agent_message", map[string]any{"agentId": "Carol", "message": "Report of the day: " + report})
	if !ready {
		return waiting
	}
	if sent.problem != "" {
		report += " The approver could not be told: " + sent.problem
	}
	return report
}
