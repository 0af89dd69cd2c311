package runtime

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"usher/caps/value"
	"usher/tools"
	"usher/tools/fault"
)

// owed is a call that was asked for and has no result yet.
type owed struct {
	ToolCall
	at         tools.At
	began      bool // its intent is in the log
	idempotent bool
	asked      bool // of whoever talks, when the turn ended
}

// begins notes that a call is about to be made.
func (s *Session) begins(ev ToolStart) {
	for i := range s.open {
		if s.open[i].ID == ev.Call.ID {
			s.open[i].began, s.open[i].idempotent = true, ev.Idempotent
		}
	}
}

// waits notes that a call is made anew when the turn goes on.
func (s *Session) waits(id string) {
	for i := range s.open {
		if s.open[i].ID == id {
			s.open[i].began = false
		}
	}
}

// end is the result of a call whose turn ended first.
func (o *owed) end() ToolEnd {
	done := ToolEnd{CallID: o.ID, Name: o.Name, Outcome: ToolStopped, Sealed: true} // what it was given may be a secret
	switch {
	case !o.began:
		done.Outcome = ToolNotStarted
		done.Result = `{"error":"not_started","message":"This call was never started, since the turn ended first: nothing of it happened.","retryable":true}`
	case o.idempotent:
		done.Result = `{"error":"stopped","message":"The turn ended before this call was finished. Whether it took effect is unknown; repeating it does no harm.","retryable":true}`
	default:
		done.Result = `{"error":"stopped","message":"The turn ended before this call was finished. Whether it took effect is unknown: look before you repeat it.","retryable":false}`
	}
	return done
}

// debts returns the calls that the conversation still owes a result.
func (s *Session) debts() []owed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]owed(nil), s.open...)
}

// Cut ends the turn that rests in the session, and does nothing where none does:
// the log says why it ended, what was never started and what has an unknown effect.
// An empty why is that the venue stopped.
func (s *Session) Cut(ctx context.Context, now time.Time, why string, code fault.Code) error {
	if !s.Claim() {
		return nil
	}
	open := s.debts()
	end := TurnEnd{Error: interruption(open), Code: string(fault.Interrupted)}
	if why != "" {
		end.Error, end.Code = why, string(code)
	}
	end.Calls, end.Usage = s.spent.calls, s.spent.usage
	if err := s.close(ctx, now, results(open), end); err != nil {
		s.Release()
		return err
	}
	<-s.turn
	return nil
}

// Interrupt ends the turn that runs in the log, whoever drives it and does not stop.
func (s *Session) Interrupt(ctx context.Context, now time.Time) error {
	open := s.debts()
	return s.close(ctx, now, results(open), TurnEnd{Error: interruption(open), Code: string(fault.Interrupted)})
}

// results are those of calls whose turn ended first.
func results(open []owed) []ToolEnd {
	out := make([]ToolEnd, len(open))
	for i := range open {
		out[i] = open[i].end()
	}
	return out
}

// close writes the results that the turn still owes, and its end.
func (s *Session) close(ctx context.Context, now time.Time, results []ToolEnd, end TurnEnd) (failed error) {
	closing := make([]Event, 0, len(results)+1)
	for _, done := range results {
		closing = append(closing, done)
	}
	for batch := range slices.Chunk(append(closing, end), 100) { // a log takes only so much at once
		if err := s.append(ctx, now, batch...); err != nil {
			return err
		}
	}
	return nil
}

// interruption is the error of a turn that was cut and owes results.
func interruption(open []owed) string {
	text := "interrupted: the venue stopped before the turn ended"
	for _, kind := range [...]struct {
		said  string
		began bool
	}{{"; whether these calls took effect is unknown: ", true}, {"; these calls were never started: ", false}} {
		var names []string
		for i := range open {
			if open[i].began == kind.began {
				names = append(names, value.Cut(open[i].Name, maxNamed))
			}
		}
		if few := 8; len(names) > few {
			names = append(names[:few], fmt.Sprintf("%d more", len(names)-few))
		}
		if len(names) > 0 {
			text += kind.said + strings.Join(names, ", ")
		}
	}
	return text
}

// maxNamed bounds what is repeated of a name that a model made up, in bytes.
const maxNamed = 80
