package webhooks

import (
	"cmp"
	"sync"

	"usher/venue/runs"
)

// Bounds of what waits to be sent to one webhook, in deliveries: what comes on top is not told.
const (
	maxWaiting = 10_000
	maxOfAgent = maxWaiting / 4 // of what one agent has brought about
)

// waits counts what waits to be sent, about, by the agents that have brought it about: none of
// them keeps the webhook from what others do. It is safe for concurrent use.
type waits struct {
	mu      sync.Mutex
	all     int
	byAgent map[string]int
}

// agentOf is the agent that has brought a run about; empty is the owner.
func agentOf(rec *runs.Record) string { return cmp.Or(rec.Caller, rec.Agent) }

// agent is [agentOf] of what is told.
func (t *eventBody) agent() string { return cmp.Or(t.Caller, t.Agent) }

// take counts one more, and reports whether there is room for it.
func (w *waits) take(agent string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all >= maxWaiting || agent != "" && w.byAgent[agent] >= maxOfAgent {
		return false
	}
	if w.byAgent == nil {
		w.byAgent = make(map[string]int)
	}
	w.all++
	w.byAgent[agent]++
	return true
}

// leave counts one that waits no more.
func (w *waits) leave(agent string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = max(w.all-1, 0)
	if n := w.byAgent[agent]; n > 1 {
		w.byAgent[agent] = n - 1
	} else {
		delete(w.byAgent, agent)
	}
}

// set has the counts be those.
func (w *waits) set(byAgent map[string]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all, w.byAgent = 0, byAgent
	for _, n := range byAgent {
		w.all += n
	}
}
