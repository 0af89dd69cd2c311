package agui

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"

	"usher/runtime"
	"usher/tools/agents"
	"usher/tools/fault"
	"usher/venue"
	"usher/venue/face"
	"usher/venue/runs"
)

// run says something to an agent, or answers what it waits for, and tells what comes of it.
func (f *Face) run(w http.ResponseWriter, r *http.Request) error {
	p, in, err := f.read(w, r)
	if err != nil {
		return err
	}
	agent := r.PathValue("agent")
	if len(in.Resume) > 0 {
		return f.resume(w, r, p, agent, in)
	}
	said := agents.Chat{AgentID: agent, SessionID: in.session(), Create: true}
	if said.Message, err = in.message(); err != nil {
		return err
	}
	said.Tools = in.offer()
	if said.Answers, err = in.answers(r.Context(), p, agent); err != nil {
		return err
	}
	if said.Message == "" && len(said.Answers) == 0 {
		return errNoAnswer
	}
	done, err := f.follows(w, p)
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithCancel(r.Context())
	state := recall(ctx, p, agent, in)
	talk := p.Talk
	if in.Forwarded.Detached {
		talk = p.TalkOn
	}
	t, err := talk(ctx, said)
	if err != nil {
		cancel()
		return err
	}
	if !in.Forwarded.Detached {
		defer t.Answer() //nolint:errcheck // it is waited for
	}
	defer cancel()
	s := face.NewStream(w)
	v := newView(p, in, t.Run(), s)
	v.mirror = state
	v.tell(nil)
	v.still = t.Still
	if v.follow(ctx, t.All) {
		out, err := t.Answer()
		v.end(ctx, out.Response, err, t.Rests())
	}
	return nil
}

var errNoAnswer = fault.New(fault.InvalidInput, "the last of messages is the result of a tool that the venue ran itself: say something to the agent, or answer a call that it waits for")

// follows takes a stream of the principal's, which may take as long as it takes.
func (f *Face) follows(w http.ResponseWriter, p *venue.Principal) (done func(), err error) {
	if err := http.NewResponseController(w).SetWriteDeadline(time.Time{}); err != nil {
		return nil, err
	}
	return f.door.Streams.Begin(p.Place(), p.Guest())
}

// view is a run as a client sees it.
type view struct {
	*emitter
	principal *venue.Principal
	stream    *face.Stream
	teller    *teller
	mirror    *mirror
	below     map[string]*teller // of the runs that the run waits for
	used      usage
	still     func(context.Context) error
	talk      *venue.Talk // of a run that was begun before
}

// follow tells all that happens until nothing more does, and reports whether the client
// still listens. What went wrong meanwhile ends the run.
func (v *view) follow(ctx context.Context, all func(context.Context) iter.Seq2[venue.TalkEvent, error]) bool {
	err := face.Follow(ctx, v.stream, v.still, all, func(h venue.TalkEvent, err error) error {
		if err != nil {
			return err
		}
		v.hears(ctx, &h)
		return v.err
	})
	if err != nil {
		v.breaksOff(err)
	}
	return err == nil
}

// hears tells what happens in the run, or in one that it waits for.
func (v *view) hears(ctx context.Context, h *venue.TalkEvent) {
	t := v.teller
	if below, is := v.below[h.Of]; is {
		t = below
	}
	switch {
	case h.Began != nil:
		v.begins(h)
	case h.Over:
		if t.up != nil {
			v.ends(t, h.Ended)
		}
	default:
		t.past = h.Past
		t.take(h.Event)
		if done, is := h.Event.(runtime.ToolEnd); is && done.Outcome == runtime.ToolOK {
			v.tellState(ctx, &work{done.Operation, t.calls[done.CallID]})
		}
	}
}

// begins tells that a run begins which another waits for: of an agent, a subagent, and of
// steps, those in the lane of whoever has them done.
func (v *view) begins(h *venue.TalkEvent) {
	up := v.teller
	if t, is := v.below[h.Began.Parent]; is {
		up = t
	}
	t := &teller{lane: up.lane, used: &v.used, calls: make(map[string]string), late: true}
	if h.Began.Agent != "" {
		t.lane = up.begins(&subagent{run: h.Of, name: h.Began.Agent, description: h.Began.Description, caps: h.Began.Caps})
	}
	if v.below == nil {
		v.below = make(map[string]*teller)
	}
	v.below[h.Of] = t
}

// ends tells how a subagent came to its end, or that it waits.
func (v *view) ends(t *teller, err error) {
	switch code := fault.Of(err); {
	case err == nil:
		t.ends("", "", false)
	case code == fault.Waiting:
		t.ends("", "", true)
	default:
		t.ends(string(code), err.Error(), false)
	}
}

// breaksOff ends the run by an error.
func (v *view) breaksOff(err error) {
	p := face.Of(err)
	v.fail(string(p.Code), p.Detail, &v.used)
}

// end tells how the run came to its end, or rests.
func (v *view) end(ctx context.Context, response json.RawMessage, err error, rests bool) {
	switch code := fault.Of(err); {
	case err == nil:
		v.finish(&outcome{result: v.teller.concludes(response), pending: v.teller.pending}, &v.used)
	case rests && code == fault.Waiting:
		list, lookErr := interrupts(ctx, v.principal, v.of, v.teller.waits, err)
		if lookErr != nil {
			v.breaksOff(lookErr)
			return
		}
		v.finish(&outcome{interrupts: list}, &v.used)
	case (code == fault.Stopped || code == fault.Canceled) && v.version != "":
		v.finish(&outcome{cancelled: true}, &v.used)
	default:
		v.breaksOff(err)
	}
}

// failureOf is why a run has no output.
func failureOf(rec *runs.Record) error {
	switch {
	case rec.Status == runs.Complete:
		return nil
	case !rec.Over():
		return fault.New(fault.Waiting, "the run is "+rec.Status)
	}
	return fault.New(rec.Code, rec.Error)
}

// recall returns the state that a thread has from runs before, for who may look at them.
func recall(ctx context.Context, p *venue.Principal, agent string, in *input) *mirror {
	m := &mirror{principal: p}
	if th, err := p.Thread(ctx, agent, in.session()); err == nil {
		if k, err := look(ctx, th); err == nil {
			m.of(ctx, k.done)
		}
	}
	return m
}
