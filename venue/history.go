package venue

import (
	"context"
	"iter"

	"usher/runtime"
)

// History yields what happened in a session of the agent, oldest first: the
// session's log, as it is when the loop begins. A session that is not there
// has none. It is for the owner in person, who may read every session of an
// agent of theirs, those with other agents ("<agent>~<id>") included.
func (a *Agent) History(ctx context.Context, session string) iter.Seq2[runtime.Entry, error] {
	return func(yield func(runtime.Entry, error) bool) {
		if session == "" {
			return
		}
		if !sessionForm.MatchString(session) {
			yield(runtime.Entry{}, badSession(session))
			return
		}
		rec := a.agent.rec.Load()
		if rec == nil {
			yield(runtime.Entry{}, &NoAgentError{a.ID()})
			return
		}
		entries, err := a.user.v.events(ctx, bound{a.agent.key, rec.Life}, session)
		if err != nil {
			yield(runtime.Entry{}, err)
			return
		}
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}
