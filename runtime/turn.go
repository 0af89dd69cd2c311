package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"usher/caps/value"
	"usher/prompt"
	"usher/runtime/telemetry"
	"usher/tools/fault"
)

var (
	// errModelCalls: the turn used all its model calls without an answer.
	errModelCalls = fault.New(fault.ModelCalls, "model call limit of the turn reached")
	// errOutput: no answer fitted the agent's output schema.
	errOutput = fault.New(fault.Output, "the answer does not fit the agent's output schema")
	// ErrStopped: whoever listened to the turn stopped listening.
	ErrStopped = fault.New(fault.Stopped, "turn stopped")
)

// finishStopped is why an answer ended that was stopped in its middle.
const finishStopped = "stopped"

// Say is what is said to an agent to start a turn.
type Say struct {
	From string // a user's DID or an agent's id
	Text string // may be empty where there are answers

	Tools   []Tool   // of whoever says it, which they run themselves
	Answers []Answer // by [CallName], to what the turn before asked of them
}

// Turn runs one turn of the agent in the session: it asks the model, runs the
// tools that the model asks for through the gate, and goes on until the model
// answers. The sequence yields what happens while it happens. A turn that
// fails ends with its error, after a [TurnEnd] that carries it too.
// Leaving the loop early stops the turn. The session can go on after any end.
func (r *Runner) Turn(ctx context.Context, a *Agent, s *Session, say Say) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if err := s.enter(ctx); err != nil {
			yield(nil, err)
			return
		}
		defer s.leave()
		if a.Ready != nil {
			if err := a.Ready(); err != nil {
				yield(nil, err)
				return
			}
		}
		var err error
		if say.Answers, err = s.match(say.Answers); err != nil {
			yield(nil, err)
			return
		}
		for i := range say.Answers {
			say.Answers[i].Text = r.cut(json.RawMessage(say.Answers[i].Text))
		}
		r.drive(ctx, a, s, &say, yield)
	}
}

// drive runs a turn from its beginning, or, where nothing is said, goes on with the
// one that the session has.
func (r *Runner) drive(ctx context.Context, a *Agent, s *Session, say *Say, yield func(Event, error) bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := &turn{Runner: r, agent: a, session: s, yield: yield, cancel: cancel}
	ctx = t.tally.below(ctx)
	ctx = t.observe(ctx)
	final, err := t.run(ctx, say)
	whole := context.WithoutCancel(ctx)
	if !t.pause(whole, ctx.Err() != nil, err) {
		t.finish(whole, final, err)
	}
}

// turn is one turn while it runs.
type turn struct {
	*Runner
	agent   *Agent
	session *Session
	yield   func(Event, error) bool
	cancel  context.CancelFunc
	gone    bool // the listener left
	shown   bool // the listener has seen a part of the answer that is made
	calls   int
	usage   Usage
	tally   tally
	got     assembly // of the answer that is made
	brief   *Briefing
	span    *telemetry.TurnSpan
	ended   *ending      // by a call; nil where none has ended the task
	client  []Tool       // of whoever talks
	pending []ClientCall // calls that are left to whoever talks

	waitMu  sync.Mutex
	waiting []Wait // calls that go on later
}

// run runs the turn; one that goes on has nothing said.
func (t *turn) run(ctx context.Context, say *Say) (final TurnEnd, err error) {
	var known *ModelAnswer
	rejected := 0
	if say == nil {
		known, rejected, err = t.resume(ctx)
	} else {
		err = t.record(ctx, TurnStart{Agent: t.agent.ID, Session: t.session.id, From: say.From, Text: say.Text, Tools: say.Tools, Answers: say.Answers})
	}
	if err != nil {
		return final, err
	}
	t.client = t.clientTools()
	entries, missing, err := t.context(ctx, t.agent, t.session.id, false)
	if err != nil {
		return final, err
	}
	for _, m := range missing {
		if err := t.record(ctx, m); err != nil {
			return final, err
		}
	}
	for {
		if t.ended != nil {
			return t.ended.result()
		}
		if len(t.pending) > 0 {
			return TurnEnd{Text: t.session.lastText(), Pending: t.pending}, nil
		}
		var answer ModelAnswer
		if known != nil {
			answer, known = *known, nil
		} else if answer, err = t.ask(ctx, entries); err != nil {
			return final, err
		}
		if len(answer.Calls) > 0 {
			if err := t.callTools(ctx, answer.Calls); err != nil {
				return final, err
			}
			continue
		}
		final.Text = answer.Text
		if t.agent.Output == nil {
			return final, nil
		}
		output, reason := t.fit(ctx, answer.Text)
		if reason == nil {
			final.Output = output
			return final, nil
		}
		rejected++
		if err := t.record(ctx, OutputRejection{Reason: value.Cut(reason.Error(), maxWhy), Try: rejected, Tries: t.opts.OutputTries}); err != nil {
			return final, err
		}
		if rejected == t.opts.OutputTries {
			return final, fmt.Errorf("%w after %d tries (limits.output_tries): %w", errOutput, rejected, reason)
		}
	}
}

// ask asks the model, and shortens the conversation where it does not fit the
// model's window.
func (t *turn) ask(ctx context.Context, entries []prompt.ContextEntry) (answer ModelAnswer, err error) {
	for try := 0; ; try++ {
		if t.brief, err = t.refresh(ctx, t.brief, t.agent, entries); err != nil {
			return ModelAnswer{}, err
		}
		req := t.request()
		mayFit, full := t.full(ctx, req)
		if full == nil {
			if answer, full = t.generate(ctx, req, true); full == nil {
				return answer, t.record(ctx, answer)
			}
			if mayFit = false; !errors.Is(full, ErrWindow) || t.shown {
				return ModelAnswer{}, full
			}
		}
		err := errLast
		if try < maxShortenings {
			err = t.compact(ctx, req)
		}
		switch {
		case err == nil:
			continue
		case !errors.Is(err, ErrWindow):
			return ModelAnswer{}, err
		case !mayFit:
			return ModelAnswer{}, fmt.Errorf("%w: %w", full, err)
		}
		if answer, err = t.generate(ctx, req, true); err != nil {
			return ModelAnswer{}, err
		}
		return answer, t.record(ctx, answer)
	}
}

func (t *turn) request() *Request {
	said, tokens := t.session.conversation()
	req := &Request{System: t.brief.System, Tools: append(t.brief.Tools, t.client...), Messages: said, asker: t.agent.Authority.Who}
	if t.agent.Output != nil {
		req.Output = t.agent.Output.JSON()
	}
	req.measure(t.brief.tokens + estimateBrief("", t.client, nil) + tokens)
	return req
}

// generate makes one model call and assembles the answer from its pieces. It
// is the only place that asks a model.
func (t *turn) generate(ctx context.Context, req *Request, visible bool) (ModelAnswer, error) {
	if t.calls == t.opts.MaxModelCalls {
		return ModelAnswer{}, fmt.Errorf("%w (%d): raise limits.model_calls where a turn needs more", errModelCalls, t.opts.MaxModelCalls)
	}
	if err := t.session.flush(ctx); err != nil {
		return ModelAnswer{}, err
	}
	defer t.session.asks(nil)
	if !t.session.asks(t.cancel) {
		return ModelAnswer{}, new(RestError)
	}
	t.calls++
	t.shown = false
	got := &t.got
	*got = assembly{}
	ctx, span := t.observeModel(ctx, req)
	err := t.collect(ctx, req, got, visible, span)
	answer := got.complete(t.calls)
	if err == nil {
		err = answer.check()
	}
	for i := range answer.Calls {
		op, err := t.tool(answer.Calls[i].Name)
		answer.Calls[i].Sealed = err == nil && op.IsSealed()
		answer.Calls[i].Client = t.isClients(answer.Calls[i].Name)
	}
	span.End(ctx, t.traceAnswer(span, req, &answer), err)
	t.usage = t.usage.Plus(answer.Usage)
	if refused, ok := errors.AsType[NoCallError](err); ok && refused.IsNoCall() && !got.came {
		t.calls--
	} else {
		t.tally.add(answer.Usage)
	}
	if err != nil {
		if t.session.parks() && ctx.Err() != nil {
			return ModelAnswer{}, new(RestError) // it is asked again
		}
		if ctx.Err() == nil {
			err = &ModelError{err}
		}
		if visible && ctx.Err() != nil && answer.Text != "" {
			// Who stopped it has read this much, and may speak of it.
			said := ModelAnswer{Text: answer.Text, Usage: answer.Usage, Finish: finishStopped, Model: answer.Model}
			err = errors.Join(err, t.session.append(context.WithoutCancel(ctx), t.opts.Now(), said))
		}
		return ModelAnswer{}, err
	}
	return answer, nil
}

// collect takes the pieces of an answer. It calls the sequence itself: a loop over
// it would cost four allocations more.
func (t *turn) collect(ctx context.Context, req *Request, got *assembly, visible bool, span *telemetry.ModelSpan) error {
	t.agent.Model.Generate(ctx, req)(func(chunk Chunk, err error) bool {
		switch {
		case got.err != nil:
			return false // it goes on though it was told to stop
		case err != nil:
			got.err = fmt.Errorf("model of agent %s: %w", t.agent.ID, err)
			return false
		}
		got.came = true
		if d := chunk.Delay; d != nil {
			span.Delay(d.Wait, d.Next, d.Try)
		} else {
			span.Chunk()
		}
		if visible {
			t.show(chunk)
		}
		got.add(chunk)
		switch {
		case t.gone:
			got.err = ErrStopped
		case got.overflows():
			got.err = errAnswer
		}
		return got.err == nil
	})
	if got.err != nil {
		return got.err
	}
	return ctx.Err()
}

// show lets the listener see an answer while it is made.
func (t *turn) show(chunk Chunk) {
	if chunk.Reasoning != "" {
		t.emit(ReasoningDelta{chunk.Reasoning})
		t.shown = true
	}
	if chunk.Text != "" {
		t.emit(TextDelta{chunk.Text})
		t.shown = true
	}
	if d := chunk.Call; d != nil {
		t.emit(ToolCallDelta(*d))
		t.shown = true
	}
	if chunk.Usage != nil {
		t.emit(UsageDelta{chunk.Usage.Sane()})
	}
	if d := chunk.Delay; d != nil {
		t.emit(ModelDelay{Reason: d.Reason, Wait: d.Wait.Milliseconds(), Model: d.Next, Try: d.Try, Tries: d.Tries})
	}
}

// fit returns the answer as JSON if it fits the agent's output schema.
func (t *turn) fit(ctx context.Context, text string) (json.RawMessage, error) {
	raw := json.RawMessage(unfence(text))
	if !json.Valid(raw) {
		return nil, errors.New("it is not one JSON value")
	}
	return raw, t.agent.Output.Validate(ctx, raw, t.agent.Authority.Meter().ChargeSchema)
}

// unfence removes the Markdown fence that models like to put around JSON.
func unfence(text string) string {
	text = strings.TrimSpace(text)
	body, ok := strings.CutPrefix(text, "```")
	if !ok {
		return text
	}
	body, ok = strings.CutSuffix(body, "```")
	if !ok {
		return text
	}
	if _, rest, found := strings.Cut(body, "\n"); found {
		return strings.TrimSpace(rest)
	}
	return text
}

// record writes the event to the session and shows it.
func (t *turn) record(ctx context.Context, ev Event) error {
	if err := t.session.append(ctx, t.opts.Now(), ev); err != nil {
		return err
	}
	t.emit(Entry{Event: ev}.discreet().Event)
	if t.gone {
		return ErrStopped
	}
	return nil
}

func (t *turn) emit(ev Event) {
	if !t.gone && !t.yield(ev, nil) {
		t.gone = true
		t.cancel()
	}
}

// finish closes the turn in the log, whatever ended it.
func (t *turn) finish(ctx context.Context, final TurnEnd, err error) {
	open := t.results(slices.DeleteFunc(t.session.debts(), func(o owed) bool { return isAsked(final.Pending, o.ID) }))
	final.Calls, final.Usage = t.calls, t.usage
	if all := t.tally.total(); all.Calls > t.calls {
		caused := all
		final.Caused = &caused
	}
	if err != nil {
		final.Error, final.Code = value.Cut(err.Error(), maxWhy), string(fault.Of(err))
		if errors.Is(err, context.Canceled) {
			final.Error, final.Code = ErrStopped.Error(), string(fault.Stopped)
		}
	}
	if logErr := t.session.close(ctx, t.opts.Now(), open, final); logErr != nil && !errors.Is(err, errors.Unwrap(logErr)) {
		err = errors.Join(err, logErr)
	}
	t.span.End(ctx, t.calls, t.usage, err)
	for i := range open {
		t.emit(open[i])
	}
	t.emit(final)
	if err != nil && !t.gone {
		t.yield(nil, err)
	}
}
