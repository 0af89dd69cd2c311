package agui

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"net/http"
	"time"

	"usher/runtime"
	"usher/tools/fault"
	"usher/tools/pause"
	"usher/venue"
	"usher/venue/face"
)

var errNothingWaits = fault.New(fault.InvalidInput, "no run of the thread waits: there is nothing to resume")

// past is what is known of a thread when a client comes to it.
type past struct {
	messages []messageView
	run      string // that has not ended; empty where none is
	seq      uint64 // of its last event
	answers  int    // of that run
	waits    []runtime.Wait
	calls    map[string]string // arguments of that run's calls
	done     []work            // of all runs
}

// look reads a thread.
func look(ctx context.Context, th *venue.Thread) (*past, error) {
	k := &past{run: th.Run}
	args := make(map[string]map[string]string) // of the calls of runs
	lanes := make(map[string]*lane)            // of runs, for the ids of what they said
	asked := new(lane)                         // of the run before
	for e, err := range th.Entries(ctx) {
		if err != nil {
			return nil, err
		}
		l := lanes[e.Run]
		if l == nil {
			l = &lane{of: e.Run}
			lanes[e.Run], args[e.Run] = l, make(map[string]string)
			if _, begins := e.Event.(runtime.TurnStart); !begins {
				if l.answers, err = th.AnswersBefore(ctx, e.Run); err != nil {
					return nil, err
				}
			}
		}
		k.messages = append(k.messages, messagesOf(l, asked, e.Event)...)
		switch ev := e.Event.(type) {
		case runtime.TurnEnd:
			asked = l
		case runtime.ModelAnswer:
			l.answers++
			for _, c := range ev.Calls {
				args[e.Run][c.ID] = c.Arguments
			}
		case runtime.ToolEnd:
			if ev.Outcome == runtime.ToolOK {
				k.done = append(k.done, work{ev.Operation, args[e.Run][ev.CallID]})
			}
		}
		if e.Run != k.run {
			continue
		}
		k.seq, k.answers = e.Seq, l.answers
		switch ev := e.Event.(type) {
		case runtime.TurnRest:
			k.waits = ev.Waits
		case runtime.TurnResume:
			k.waits = nil
		case runtime.TurnEnd:
			k.run = ""
		}
	}
	k.calls = args[k.run]
	return k, nil
}

// messageView is a message as a client is shown it.
type messageView struct {
	message
	Calls []callView `json:"toolCalls,omitempty"`
}

type callView struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// messagesOf is an event as messages, by the ids that they had when they were told. asked is
// the lane of the run before, whose calls a client answers.
func messagesOf(l, asked *lane, ev runtime.Event) (list []messageView) {
	add := func(id, role, call, text string) {
		raw, _ := json.Marshal(text) // cannot fail
		list = append(list, messageView{message: message{ID: id, Role: role, CallID: call, Content: raw}})
	}
	switch ev := ev.(type) {
	case runtime.TurnStart:
		for _, a := range ev.Answers {
			id := asked.call(a.CallID)
			add(id+resultMark, tool, id, a.Text)
		}
		if ev.Text != "" {
			add(l.of+"-u", user, "", ev.Text)
		}
	case runtime.ModelAnswer:
		add(l.id("-m"), assistant, "", ev.Text)
		m := &list[0]
		if ev.Text == "" {
			m.Content = nil
		}
		for _, c := range ev.Calls {
			call := callView{ID: l.call(c.ID), Type: "function"}
			call.Function.Name, call.Function.Arguments = c.Name, c.Arguments
			m.Calls = append(m.Calls, call)
		}
	case runtime.ToolEnd:
		id := l.call(ev.CallID)
		add(id+resultMark, tool, id, ev.Result)
	}
	return list
}

// resume answers what the run of a thread waits for, and tells what comes of it.
func (f *Face) resume(w http.ResponseWriter, r *http.Request, p *venue.Principal, agent string, in *input) error {
	ctx := r.Context()
	th, err := p.Thread(ctx, agent, in.session())
	if err != nil {
		return err
	}
	if th.Run == "" {
		return errNothingWaits
	}
	k, err := look(ctx, th)
	if err != nil {
		return err
	}
	rec, err := p.Run(ctx, th.Run)
	if err != nil {
		return err
	}
	why := failureOf(&rec)
	if fault.Of(why) != fault.Waiting {
		return errNothingWaits
	}
	open, err := interrupts(ctx, p, th.Run, k.waits, why)
	if err != nil {
		return err
	}
	done, err := f.follows(w, p)
	if err != nil {
		return err
	}
	defer done()
	talk, stop := p.Attend(th.Run)
	defer stop()
	if open[0].id != th.Run { // it waits for persons
		err = answers(ctx, p, open, in.Resume)
	}
	if err != nil {
		return err
	}
	v := newView(p, in, th.Run, face.NewStream(w))
	v.talk = talk
	v.mirror.of(ctx, k.done)
	v.tell(nil)
	v.goesOn(ctx, k, time.Now())
	return nil
}

// newView is a run that was begun before.
func newView(p *venue.Principal, in *input, run string, s *face.Stream) *view {
	v := &view{principal: p, stream: s, emitter: begin(in, run, func(ev *event) error { return s.Send("", "", ev) })}
	v.teller = &teller{lane: &v.lane, used: &v.used, calls: make(map[string]string)}
	v.mirror = &mirror{principal: p}
	v.still = func(ctx context.Context) error {
		return p.Still(ctx, "grid:jobStatus", map[string]string{"id": run})
	}
	return v
}

// Times of a run that was answered.
const (
	wakeTime = 10 * time.Second      // that it has to go on
	wakeStep = 20 * time.Millisecond // before it is looked at again; longer each time
)

// goesOn tells what comes of a run behind what is known of it, until it ends or rests for
// something else than was answered last.
func (v *view) goesOn(ctx context.Context, k *past, answered time.Time) {
	v.answers, v.teller.waits = k.answers, k.waits
	maps.Copy(v.teller.calls, k.calls)
	for step, last := wakeStep, false; ; step *= 2 {
		v.teller.late = true
		if !v.follow(ctx, func(ctx context.Context) iter.Seq2[venue.TalkEvent, error] {
			return func(yield func(venue.TalkEvent, error) bool) {
				for h, err := range v.talk.Since(ctx, k.seq) {
					if h.Of == v.of && h.Seq > 0 {
						k.seq = h.Seq
					}
					if !yield(h, err) || err != nil {
						return
					}
				}
			}
		}) {
			return
		}
		rec, err := v.principal.Run(ctx, v.of)
		if err != nil {
			v.breaksOff(err)
			return
		}
		why := failureOf(&rec)
		if fault.Of(why) != fault.Waiting {
			if v.teller.ended || last {
				v.end(ctx, rec.Output, why, false)
				return
			}
			last = true // it has gone on and ended since its log was told
			continue
		}
		open, err := interrupts(ctx, v.principal, v.of, v.teller.waits, why)
		if err != nil {
			v.breaksOff(err)
			return
		}
		if open[0].id != v.of || time.Since(answered) > wakeTime { // it waits for something else
			v.finish(&outcome{interrupts: open}, &v.used)
			return
		}
		if pause.For(ctx, step) != nil {
			return
		}
	}
}

// connect tells what a thread is, and what comes of its run that has not ended.
func (f *Face) connect(w http.ResponseWriter, r *http.Request) error {
	p, in, err := f.read(w, r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	th, err := p.Thread(ctx, r.PathValue("agent"), in.session())
	if err != nil {
		return err
	}
	k, err := look(ctx, th)
	if err != nil {
		return err
	}
	done, err := f.follows(w, p)
	if err != nil {
		return err
	}
	defer done()
	v := newView(p, in, k.run, face.NewStream(w))
	talk, stop := p.Attend(k.run)
	defer stop()
	v.talk = talk
	v.messages(k.messages)
	v.mirror.of(ctx, k.done)
	v.tell(nil)
	if k.run == "" {
		pending, err := th.OpenCalls(ctx)
		if err != nil {
			v.breaksOff(err)
			return nil
		}
		v.finish(&outcome{pending: pending}, &v.used)
		return nil
	}
	v.goesOn(ctx, k, time.Time{})
	return nil
}
