package venue

import (
	"context"
	"iter"
	"slices"
	"time"

	"usher/runtime"
	"usher/tools/agents"
	"usher/tools/fault"
	"usher/venue/runs"
)

// Talk is one turn of an agent, as whoever said something to it hears it.
type Talk struct {
	p     *Principal
	below family                     // runs that it waits for
	run   *runs.Run                  // nil where it is attended
	id    string                     // of the run
	sees  func(context.Context) bool // says whether who talks may look at the run
	still func(context.Context) error
	whole bool // the answer has to fit a schema, and pieces of it say nothing

	after    uint64 // the event of the run that was heard before
	attached bool   // somebody else began the run

	done chan struct{} // closed when what follows is there
	said agents.ChatResult
	err  error
}

// Talk says something to an agent, as agent:chat does, and returns when its turn has
// begun, or with why it did not. The turn ends with ctx. [Talk.Events] has to be read,
// and [Talk.Answer] waits for the end.
func (p *Principal) Talk(ctx context.Context, in agents.Chat) (*Talk, error) {
	return p.talk(ctx, in, func() {})
}

// maxTalk is how long a turn goes on that whoever talks has left.
const maxTalk = time.Hour

var errMaxTalk = fault.New(fault.Timeout, "the turn has gone on for an hour without an end")

// TalkOn is [Principal.Talk] of a turn that goes on when ctx has ended, an hour at most.
func (p *Principal) TalkOn(ctx context.Context, in agents.Chat) (*Talk, error) {
	whole, end := context.WithTimeoutCause(context.WithoutCancel(ctx), maxTalk, errMaxTalk)
	return p.talk(whole, in, end)
}

// talk calls end when the turn is over.
func (p *Principal) talk(ctx context.Context, in agents.Chat, end func()) (*Talk, error) {
	t := &Talk{p: p, below: family{signal: make(chan struct{}, 1)}, done: make(chan struct{})}
	begun := make(chan *runs.Run, 1)
	go func() {
		defer close(t.done)
		defer end()
		watched := runs.WithWatchBelow(runs.WithWatch(ctx, func(r *runs.Run) { begun <- r }), func(r, by *runs.Run) { t.below.add(r, by.ID(), by.Seq()) })
		t.err = p.ask(watched, "agent:chat", in, &t.said)
	}()
	select {
	case t.run = <-begun:
	case <-t.done:
		select {
		case t.run = <-begun: // and has ended already
		default:
			return nil, t.err
		}
	}
	t.id, t.still = t.run.ID(), p.stillMay(ctx, "agent:chat", in)
	t.sees = func(ctx context.Context) bool { return p.Still(ctx, "grid:jobStatus", byID{t.id}) == nil }
	t.whole = p.agents.IsShaped(ctx, p.DID(), in.AgentID)
	return t, nil
}

// Run is the id of the turn's run.
func (t *Talk) Run() string { return t.id }

// Still says why who talks may not talk with the agent any more. Where a person had to allow
// what was said, that counts to the end of the turn. It is for a talk that they began.
func (t *Talk) Still(ctx context.Context) error { return t.still(ctx) }

// Events yields what happens in the turn, pieces of the answer among it, until the turn has
// ended or rests. Whoever may not look at the run hears what the agent says and asks of them,
// and what that took, and nothing of what it does. It is for one reader, once.
func (t *Talk) Events(ctx context.Context) iter.Seq2[runtime.Entry, error] {
	return func(yield func(runtime.Entry, error) bool) {
		for e, err := range t.events(ctx, t.id, t.run, t.after) {
			if err == nil && t.attached {
				err = t.p.Still(ctx, "grid:jobStatus", byID{t.id})
			}
			if err == nil {
				if e.Event = t.hear(ctx, e.Event); e.Event == nil {
					continue
				}
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// hear returns what of an event whoever talks hears; nil is nothing.
func (t *Talk) hear(ctx context.Context, ev runtime.Event) runtime.Event {
	switch ev := ev.(type) {
	case runtime.TextDelta:
		if t.whole {
			return nil
		}
	case runtime.ModelAnswer:
		if t.whole {
			ev.Text = ""
		}
		if !t.sees(ctx) {
			return runtime.ModelAnswer{
				Text: ev.Text, Usage: ev.Usage, Finish: ev.Finish,
				Calls: slices.DeleteFunc(slices.Clone(ev.Calls), func(c runtime.ToolCall) bool { return !c.Client }),
			}
		}
		return ev
	case runtime.TurnEnd:
		if len(ev.Pending) > 0 && !t.sees(ctx) {
			return runtime.TurnEnd{Pending: ev.Pending}
		}
		if !t.sees(ctx) {
			return nil
		}
	default:
		if !t.sees(ctx) {
			return nil
		}
	}
	return ev
}

// Answer waits for what the agent says in the end, or why it says nothing: one whose code
// is [fault.Waiting] goes on later.
func (t *Talk) Answer() (agents.ChatResult, error) {
	<-t.done
	return t.said, t.err
}

// Rests reports whether the turn goes on later, once [Talk.Answer] has returned.
func (t *Talk) Rests() bool { rec := t.run.Record(); return !rec.Over() }
