package runtime

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"usher/caps/value"
	"usher/tools"
	"usher/tools/fault"
)

// RestError says that a turn has not ended and goes on later, by [Runner.Resume]:
// when what its calls wait for has ended, or, without any, after the venue was
// closed.
type RestError struct{ Waits []Wait }

func (e *RestError) Error() string {
	if len(e.Waits) == 0 {
		return "the turn rests: it goes on when the venue is opened again"
	}
	texts := make([]string, len(e.Waits))
	for i, w := range e.Waits {
		texts[i] = w.Text
	}
	return "the turn rests: " + strings.Join(texts, "; ")
}

// Code is [fault.Waiting].
func (e *RestError) Code() fault.Code { return fault.Waiting }

// errRests: a session whose turn rests takes no other.
var errRests = fault.New(fault.Waiting, "the last turn of the session waits and has not ended: answer what it waits for, or stop its run")

// rest is how the turn of a session rests. It is guarded by Session.mu.
type rest struct {
	rests  bool               // the turn has no end, and nobody drives it
	wanted bool               // it shall rest as soon as it can, and no other begin
	once   bool               // it shall rest as soon as it can
	asking context.CancelFunc // ends the turn that waits for its model
	told   chan struct{}      // closed when the turn rests; nil while nobody waits for it
}

// progress is what the turn of a session has done.
type progress struct {
	calls    int
	usage    Usage
	rejected int // answers, by the output schema
	began    int // calls of tools
	metered  tools.Amounts
}

// Rest reports whether a turn rests in the session, and of which run it is.
func (s *Session) Rest() (run string, rests bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run, s.rest.rests
}

// Meter is what the log says that the turn has spent of the limits of its call tree: as
// much as it had when it rested, and a call for each one that began.
func (s *Session) Meter() tools.Amounts {
	s.mu.Lock()
	defer s.mu.Unlock()
	spent := s.spent.metered
	spent.Calls = max(spent.Calls, int64(s.spent.began))
	return spent
}

// CutEnd says how [Session.Cut] would say that the turn ended which rests.
func (s *Session) CutEnd() TurnEnd {
	return TurnEnd{Error: interruption(s.debts()), Code: string(fault.Interrupted)}
}

// Park has the turn of the session rest as soon as it can: at once where it waits
// for its model, or else after the calls that run. No other begins.
func (s *Session) Park() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest.wanted = true
	if s.rest.asking != nil {
		s.rest.asking()
	}
}

// Pause has the turn that runs rest as [Session.Park] does, but none after it; or not
// any more.
func (s *Session) Pause(rests bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest.once = rests
	if rests && s.rest.asking != nil {
		s.rest.asking()
	}
}

// parks reports whether the turn shall rest.
func (s *Session) parks() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rest.wanted || s.rest.once
}

// asks notes that the turn waits for its model, and how it is ended meanwhile: nil is
// that it does not any more. It reports whether the turn may go on.
func (s *Session) asks(stop context.CancelFunc) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest.asking = stop
	return !s.rest.wanted && !s.rest.once
}

// Claim takes over the turn that rests, if one does: [Runner.Resume] goes on with it,
// or [Session.Release] lets go of it again.
func (s *Session) Claim() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	claimed := s.rest.rests
	s.rest.rests, s.rest.once, s.rest.told = false, false, nil
	return claimed
}

// Release lets go of the turn that the caller has claimed, which rests again.
func (s *Session) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest.rests = true
	if s.rest.told != nil {
		close(s.rest.told)
		s.rest.told = nil
	}
}

// enter waits for the turn before, which must not rest.
func (s *Session) enter(ctx context.Context) error {
	for {
		select {
		case s.turn <- struct{}{}:
			s.Pause(false)
			return nil
		default:
		}
		s.mu.Lock()
		rests := s.rest.rests
		if !rests && s.rest.told == nil {
			s.rest.told = make(chan struct{})
		}
		told := s.rest.told
		s.mu.Unlock()
		if rests {
			return fmt.Errorf("session %s: %w", s.id, errRests)
		}
		select {
		case s.turn <- struct{}{}:
			s.Pause(false)
			return nil
		case <-told:
		case <-ctx.Done():
			return fmt.Errorf("wait for the turn that runs in session %s: %w", s.id, context.Cause(ctx))
		}
	}
}

// leave lets the next turn begin, unless this one rests.
func (s *Session) leave() {
	s.mu.Lock()
	rests := s.rest.rests
	s.mu.Unlock()
	if !rests {
		<-s.turn
	}
}

// Resume goes on with the turn of the session that the caller has claimed, as
// [Runner.Turn] does from its beginning: no answer that the log has is asked for
// again, and no call is made twice that may not be.
func (r *Runner) Resume(ctx context.Context, a *Agent, s *Session) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		defer s.leave()
		r.drive(ctx, a, s, nil, yield)
	}
}

// resume takes the turn up where the log ends. An answer is the last one where
// that is the turn's.
func (t *turn) resume(ctx context.Context) (answer *ModelAnswer, rejected int, err error) {
	t.session.mu.Lock()
	spent, open := t.session.spent, append([]owed(nil), t.session.open...)
	if n := len(t.session.messages); len(open) == 0 && n > 0 && t.session.messages[n-1].Role == RoleAssistant {
		answer = &ModelAnswer{Text: t.session.messages[n-1].Text}
	}
	t.session.mu.Unlock()
	t.calls, t.usage = spent.calls, spent.usage
	if err := t.record(ctx, TurnResume{}); err != nil {
		return nil, 0, err
	}
	return answer, spent.rejected, t.settle(ctx, open)
}

// at is where a call stands that the conversation owes a result.
func (s *Session) at(call string) tools.At {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.open {
		if s.open[i].ID == call {
			return s.open[i].at
		}
	}
	return tools.At{}
}

// settle comes to results of the calls that the log owes some. What began and must
// not be made twice has an unknown effect.
func (t *turn) settle(ctx context.Context, open []owed) error {
	var again []wish
	var fresh []ToolCall
	for i := range open {
		o := &open[i]
		switch {
		case !o.began:
			fresh = append(fresh, o.ToolCall)
		case o.idempotent, t.opts.Unbegun != nil && t.opts.Unbegun(ctx, t.agent.Authority, o.at):
			again = append(again, t.wish(o.ToolCall))
		default:
			if err := t.record(ctx, o.loss()); err != nil {
				return err
			}
		}
	}
	if len(again) > 0 {
		if err := t.callBatch(ctx, again); err != nil {
			return err
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	return t.callTools(ctx, fresh)
}

// loss is the result of a call that the process did not outlive.
func (o *owed) loss() ToolEnd {
	return ToolEnd{
		CallID: o.ID, Name: o.Name, Outcome: ToolUnknown, Sealed: o.Sealed,
		Result: `{"error":"unknown","message":"The venue stopped while this call ran. Whether it took effect is unknown: look before you repeat it.","retryable":false}`,
	}
}

// waits notes that a call goes on later, if that is what its error says.
func (t *turn) waits(w *wish, err error) bool {
	wait, waits := errors.AsType[*tools.WaitError](err)
	if !waits {
		if _, closes := errors.AsType[*RestError](err); !closes {
			return false
		}
		wait = new(tools.WaitError)
	}
	t.waitMu.Lock()
	defer t.waitMu.Unlock()
	t.waiting = append(t.waiting, Wait{CallID: w.ID, Name: value.Cut(w.Name, maxNamed), Approval: wait.Approval, Run: wait.Run, Owner: wait.Owner, Text: value.Cut(err.Error(), maxWhy)})
	return true
}

// restError is the error of a turn whose calls wait; nil where none does.
func (t *turn) restError() error {
	if len(t.waiting) == 0 {
		return nil
	}
	return &RestError{t.waiting}
}

// pause leaves the turn without an end, where it is to go on later. It reports
// whether it did.
func (t *turn) pause(ctx context.Context, dead bool, err error) bool {
	rest, rests := errors.AsType[*RestError](err)
	if !rests && (err == nil || !dead || !t.session.parks()) {
		return false
	}
	if !rests {
		rest = new(RestError)
	}
	spent := t.agent.Authority.Meter().Amounts()
	rested := TurnRest{Waits: rest.Waits, Spent: &spent}
	if logErr := t.session.append(ctx, t.opts.Now(), rested); logErr != nil {
		return false
	}
	t.span.End(ctx, t.calls, t.usage, nil)
	t.session.Release()
	t.emit(rested)
	if !t.gone {
		t.yield(nil, rest)
	}
	return true
}
