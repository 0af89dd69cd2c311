package venue

import (
	"context"
	"slices"
	"time"

	"usher/runtime"
	"usher/tools/agents"
)

// SessionSummary is a session of an agent in few words.
type SessionSummary struct {
	ID      string    `json:"sessionId"`
	Began   time.Time `json:"began"`
	Last    time.Time `json:"last"`    // event
	Turns   int       `json:"turns"`   // that began
	First   string    `json:"first"`   // that was said, the first 200 characters of it
	Waiting int       `json:"waiting"` // messages that the next turn hears
}

const maxFirst = 200 // characters

// Sessions lists the agent's sessions, the one of the latest event first: like
// [Agent.History] for the owner in person, and all of them. It reads their logs.
func (a *Agent) Sessions(ctx context.Context) ([]SessionSummary, error) {
	rec := a.agent.rec.Load()
	if rec == nil {
		return nil, &NoAgentError{a.ID()}
	}
	list := []SessionSummary{}
	of := bound{a.agent.key, rec.Life}
	err := a.user.v.eachSession(ctx, of, func(id string) error {
		entries, err := a.user.v.events(ctx, of, id)
		if err == nil {
			list = append(list, summary(id, entries))
		}
		return err
	})
	slices.SortStableFunc(list, func(x, y SessionSummary) int { return y.Last.Compare(x.Last) })
	return list, err
}

// Waiting is how many messages the next turn of a session hears.
func (a *Agent) Waiting(ctx context.Context, session string) (n int, err error) {
	var entries []runtime.Entry
	for e, err := range a.History(ctx, session) {
		if err != nil {
			return 0, err
		}
		entries = append(entries, e)
	}
	return summary(session, entries).Waiting, nil
}

func summary(id string, entries []runtime.Entry) SessionSummary {
	out := SessionSummary{ID: id}
	for i, e := range entries {
		if out.Last = e.Time; i == 0 {
			out.Began = e.Time
		}
		said := ""
		switch ev := e.Event.(type) {
		case runtime.TurnStarted:
			said = ev.Text
			out.Turns++
			out.Waiting = 0
		case runtime.Received:
			said = ev.Text
			out.Waiting++
		}
		if out.First == "" {
			out.First = beginning(said)
		}
	}
	return out
}

// beginning cuts a text to what a summary shows of it.
func beginning(text string) string {
	n := 0
	for i := range text {
		if n++; n > maxFirst {
			return text[:i]
		}
	}
	return text
}

// Ended reports whether the agent has ended, and takes no work any more.
func (a *Agent) Ended() bool {
	rec := a.agent.rec.Load()
	return rec == nil || rec.Status == agents.Terminated
}
