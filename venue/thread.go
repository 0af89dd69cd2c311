package venue

import (
	"context"
	"iter"

	"usher/runtime"
	"usher/tools/agents"
	"usher/tools/fault"
)

// Thread is a session of an agent, as whoever talks in it sees it.
type Thread struct {
	Run string // that has not ended; empty where none is

	p     *Principal
	agent *Agent
	id    string
	from  uint64
	last  uint64 // event
}

// Bounds of how much of a thread is told.
const (
	maxEntries = 2000    // events
	maxTold    = 4 << 20 // bytes of them
)

// Thread returns a session of an agent that the principal may talk in. One that is not there
// is an error of [fault.NotFound].
func (p *Principal) Thread(ctx context.Context, agent, session string) (*Thread, error) {
	if err := p.Still(ctx, "agent:chat", agents.Chat{AgentID: agent, Message: "?", SessionID: session}); err != nil {
		return nil, err
	}
	a, err := p.agents.Agent(ctx, p.auth, p.valid, agent)
	if err != nil {
		return nil, err
	}
	head, err := a.Session(ctx, p.auth.Actor(), session)
	if err != nil {
		return nil, err
	}
	t := &Thread{Run: head.Run, p: p, agent: a, id: head.ID, last: head.Seq}
	if t.from, err = a.Tail(ctx, head.ID, maxEntries, maxTold); err == nil && t.Run != "" {
		err = p.may(ctx, "grid:jobStatus", byID{t.Run})
	}
	return t, err
}

// Entries yields what happened in the session, the oldest first: the last 2000 events, or
// 4 MiB of them, of runs that the principal may look at.
func (t *Thread) Entries(ctx context.Context) iter.Seq2[runtime.Entry, error] {
	return func(yield func(runtime.Entry, error) bool) {
		seen := make(map[string]bool)
		for e, err := range t.agent.HistoryAfter(ctx, t.id, t.from) {
			if err != nil {
				yield(e, err)
				return
			}
			if e.Run == "" {
				continue // left between turns
			}
			sees, known := seen[e.Run]
			if !known {
				err := t.p.Still(ctx, "grid:jobStatus", byID{e.Run})
				sees = err == nil
				if seen[e.Run] = sees; err != nil && fault.Of(err) != fault.Denied && fault.Of(err) != fault.ApprovalRequired {
					yield(e, err)
					return
				}
			}
			if sees && !yield(e, nil) {
				return
			}
		}
	}
}

// AnswersBefore counts the answers of a run that are not told by [Thread.Entries], because it
// begins in the middle of the run.
func (t *Thread) AnswersBefore(ctx context.Context, run string) (n int, err error) {
	rec, err := t.p.runs.Find(ctx, t.p.DID(), run)
	switch {
	case fault.Of(err) == fault.NotFound, err == nil && rec.From == 0: // nobody knows any more
		return 0, nil
	case err != nil:
		return 0, err
	}
	for e, err := range t.agent.HistoryAfter(ctx, t.id, rec.From-1) {
		if err != nil || e.Seq > t.from {
			return n, err
		}
		if _, is := e.Event.(runtime.ModelAnswer); is && e.Run == run {
			n++
		}
	}
	return n, nil
}

// maxLeft is how many events at most lie behind the end of a session's last turn, with it.
const maxLeft = 256

// OpenCalls lists the calls that the agent has asked whoever talks to make in the last turn, and
// that wait for their answers, by [runtime.CallName].
func (t *Thread) OpenCalls(ctx context.Context) (calls []string, err error) {
	for e, err := range t.agent.HistoryAfter(ctx, t.id, t.last-min(t.last, maxLeft)) {
		if err != nil {
			return nil, err
		}
		switch ev := e.Event.(type) {
		case runtime.TurnStart:
			calls = nil
		case runtime.TurnEnd:
			calls = nil
			for _, asked := range ev.Pending {
				calls = append(calls, runtime.CallName(e.Run, asked.CallID))
			}
		}
	}
	return calls, nil
}
