package agents

import (
	"usher/tools/spend"
)

// Budgets bound what an agent's model calls may spend, and with them those of
// all that it has others do. The zero value bounds nothing.
type Budgets struct {
	Run     spend.Limits `json:"run,omitzero" form:"the run budget" required:"*" example:"{'calls': 20, 'money': 0.50}" jsonschema:"One turn and everything that comes of it."`
	Session spend.Limits `json:"session,omitzero" form:"the session budget" required:"*" example:"{'calls': 20, 'money': 0.50}" jsonschema:"All turns of one session."`
	Agent   spend.Limits `json:"agent,omitzero" form:"the agent budget" required:"*" example:"{'calls': 20, 'money': 0.50}" jsonschema:"As long as the agent lives. It binds the agents below it too."`
}

// Budget is a budget that binds an agent, as agent:info tells it.
type Budget struct {
	For    string        `json:"for"`             // "run", "session" or "agent", as in [Budgets]
	Of     string        `json:"of,omitempty"`    // the agent above that it was given to; empty for the agent itself
	Limits spend.Limits  `json:"limits"`          // what may be spent
	Spent  *spend.Amount `json:"spent,omitempty"` // nil for runs and sessions: each begins with nothing
}

var budgetNames = []string{"run", "session", "agent"}

// Find returns the budget that is called run, session or agent; otherwise nil.
func (b *Budgets) Find(name string) *spend.Limits {
	switch name {
	case "run":
		return &b.Run
	case "session":
		return &b.Session
	case "agent":
		return &b.Agent
	}
	return nil
}

// Looser says what b allows beyond old, as "run.calls", or "". No budgets at
// all are nil.
func (b *Budgets) Looser(old *Budgets) string {
	if old == nil {
		return ""
	}
	if b == nil {
		b = new(Budgets)
	}
	for _, name := range budgetNames {
		if kind := b.Find(name).Looser(*old.Find(name)); kind != "" {
			return name + "." + kind
		}
	}
	return ""
}
