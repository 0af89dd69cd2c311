package a2a

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"usher/runtime"
	"usher/tools/pause"
	"usher/venue/face"
	"usher/venue/runs"
)

// lookTime is between two looks at a task that rests.
const lookTime = time.Second

// feed is a task that is followed.
type feed struct {
	rec   *runs.Record
	begun bool  // the caller may not look at it
	shape shape // of the task that comes first
	stays bool  // also where it rests
}

func (c *call) sendStream() (*feed, error) {
	s, err := c.take()
	if err != nil {
		return nil, err
	}
	return &feed{s.rec, s.begun, s.shape, s.wakes}, nil
}

func (c *call) subscribe() (*feed, error) {
	var in a2a.SubscribeToTaskRequest
	if err := c.read(&in); err != nil {
		return nil, err
	}
	rec, err := c.find(string(in.ID))
	if err != nil {
		return nil, err
	}
	if rec.Over() {
		return nil, errUnsupported.because("the task has ended: GetTask has its answer")
	}
	return &feed{rec: rec, shape: shape{artifacts: true}, stays: true}, nil
}

// streams answers with the stream of a method, each event or error as wrap has it. An error is one
// of before it began: who follows as many streams as they may has nothing done.
func (c *call) streams(m *method, wrap func(event any, failed error) any) error {
	done, err := c.face.door.Streams.Begin(c.p.Place(), c.p.Guest())
	if err != nil {
		return err
	}
	defer done()
	f, err := m.stream(c)
	if err == nil {
		c.follow(f, wrap)
	}
	return err
}

// follow sends what comes of a task.
func (c *call) follow(f *feed, wrap func(event any, failed error) any) {
	s := face.NewStream(c.w)
	still := func(ctx context.Context) error {
		return c.p.Still(ctx, "grid:jobStatus", map[string]string{"id": f.rec.ID})
	}
	if f.begun {
		still = func(context.Context) error { return nil }
	}
	_ = face.Follow(c.r.Context(), s, still, func(ctx context.Context) iter.Seq2[a2a.Event, error] { return c.events(ctx, f) }, func(ev a2a.Event, failed error) error {
		if failed != nil {
			_ = s.Send("", "", wrap(nil, failed)) // or the client is gone
			return failed
		}
		return s.Send("", "", wrap(c.inVersion(a2a.StreamResponse{Event: ev}), nil))
	})
}

// events are those of a task: itself first, then what changes.
func (c *call) events(ctx context.Context, f *feed) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		t, err := c.task(f.rec, f.shape)
		if !yield(t, err) || err != nil || f.begun {
			return
		}
		rec, state, after := *f.rec, t.Status.State, uint64(0)
		text := recital{task: t.TaskInfo()}
		for !rec.Over() {
			if rec.Status == runs.Started {
				for e, err := range c.p.Events(ctx, rec.ID, after) {
					if err != nil {
						yield(nil, noTask(err))
						return
					}
					after = max(after, e.Seq)
					if ev := text.take(e.Event); ev != nil && !yield(ev, nil) {
						return
					}
				}
			}
			if rec, err = c.p.Await(ctx, rec.ID); err != nil {
				yield(nil, noTask(err))
				return
			}
			if rec.Over() {
				break
			}
			if now := stateOf(&rec); now != state {
				if state = now; !yield(&a2a.TaskStatusUpdateEvent{TaskID: t.ID, ContextID: t.ContextID, Status: c.status(&rec)}, nil) {
					return
				}
			}
			if !f.stays {
				return
			}
			if pause.For(ctx, lookTime) != nil {
				return
			}
		}
		c.end(&rec, t, &text, yield)
	}
}

// end tells what a task has come to.
func (c *call) end(rec *runs.Record, t *a2a.Task, text *recital, yield func(a2a.Event, error) bool) {
	if rec.Status == runs.Complete {
		made := partOf(rec.Output)
		if made == nil {
			yield(nil, errAgentAnswer)
			return
		}
		if said, is := made.Content.(a2a.Text); !is || string(said) != text.said.String() {
			if !yield(text.event(made, false, true), nil) {
				return
			}
		}
	}
	yield(&a2a.TaskStatusUpdateEvent{TaskID: t.ID, ContextID: t.ContextID, Status: c.status(rec)}, nil)
}

// recital is the answer of a task as it comes. What an agent says before it calls tools is
// replaced by what it says next.
type recital struct {
	task a2a.TaskInfo
	said strings.Builder
	next bool // another answer comes
}

// take takes an event of the run, and returns what it is to whoever follows; nil is nothing.
func (r *recital) take(ev runtime.Event) a2a.Event {
	switch ev := ev.(type) {
	case runtime.TextDelta:
		if ev.Text == "" {
			return nil
		}
		if r.next {
			r.said.Reset()
			r.next = false
		}
		grows := r.said.Len() > 0
		r.said.WriteString(ev.Text)
		return r.event(a2a.NewTextPart(ev.Text), grows, false)
	case runtime.ModelAnswer:
		r.next = true
	}
	return nil
}

func (r *recital) event(part *a2a.Part, grows, last bool) a2a.Event {
	return &a2a.TaskArtifactUpdateEvent{
		TaskID: r.task.TaskID, ContextID: r.task.ContextID, Append: grows, LastChunk: last,
		Artifact: &a2a.Artifact{ID: artifact, Name: artifact, Parts: a2a.ContentParts{part}},
	}
}
