package agentauth

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"time"

	"usher/runtime"
	"usher/tools"
	"usher/tools/fault"
	"usher/venue"
	"usher/venue/config"
	"usher/venue/face"
	"usher/venue/runs"
	"usher/venue/visitors"
)

// Bounds of executes.
const (
	maxBatch  = 50
	maxStream = 10 * time.Minute // of one stream
	checkTime = 2 * time.Second  // between two looks at whether the agent still may
	pollAfter = 2                // s: Retry-After of what is not done
)

// item is one execute.
type item struct {
	ID         string          `json:"id,omitempty"`
	Capability string          `json:"capability"`
	Arguments  json.RawMessage `json:"arguments"`
}

// visit decides an execute, and returns the principal who may make the call. What the operation
// may do further while it runs lets nobody call it: who may not without that, is denied without.
func (c *call) visit(in *item) (*venue.Principal, *visitors.Execution, error) {
	x, err := c.face.room.Execution(c.ctx(), c.by, in.Capability, in.Arguments)
	if err != nil {
		return nil, nil, err
	}
	id := c.by.Agent.ID
	still := func(ctx context.Context) error { return c.face.room.Still(ctx, id, in.Capability) }
	p := c.face.door.Venue.Visit(x.Authority, still)
	if !x.Capability.Within.IsZero() {
		if ruling, err := p.Decide(c.ctx(), x.Operation, x.Input); err == nil && ruling.Denial() == nil {
			p = c.face.door.Venue.Visit(x.Further, still)
		}
	}
	return p, x, nil
}

func (c *call) execute() error {
	var in item
	if err := c.agent(); err != nil {
		return err
	}
	if err := c.into(&in); err != nil {
		return err
	}
	if c.capability = in.Capability; in.Capability == "" {
		return invalid("capability is missing")
	}
	p, x, err := c.visit(&in)
	if err != nil {
		return err
	}
	switch x.Capability.Answer {
	case config.AnswerAsync:
		return c.async(p, x)
	case config.AnswerStream:
		return c.stream(p, x)
	}
	out, err := c.invoke(p, x)
	if err != nil {
		return err
	}
	c.record("", nil)
	return c.ok(map[string]any{"data": out})
}

// invoke makes the call of an execute. Why a program of the user's fails that the agent may run, is the
// user's to know, as with one that is told of later.
func (c *call) invoke(p *venue.Principal, x *visitors.Execution) (json.RawMessage, error) {
	out, err := p.Invoke(c.ctx(), x.Operation, x.Input)
	if err == nil {
		return out, nil
	}
	ruling, refused := p.Decide(c.ctx(), x.Operation, x.Input)
	if refused == nil && ruling.Verdict() == tools.Allowed && ruling.Operation().Program() != nil {
		if e := withheld(fault.Of(err)); e.Code != visitors.Internal { // of which the log has all
			return nil, e
		}
	}
	return nil, err
}

// withheld is an error of a code without what an operation says of it.
func withheld(code fault.Code) *visitors.Refusal {
	return refusal(fault.New(code, "the operation refused it"))
}

// batch executes each of a list; what becomes of one changes nothing for the others.
func (c *call) batch() error {
	var in struct {
		Requests []item `json:"requests"`
	}
	if err := c.agent(); err != nil {
		return err
	}
	if err := c.into(&in); err != nil {
		return err
	}
	if len(in.Requests) == 0 || len(in.Requests) > maxBatch {
		return invalid("requests has 1 to 50 of them")
	}
	list := make([]map[string]any, len(in.Requests))
	for i := range in.Requests {
		one := &in.Requests[i]
		out, err := c.one(i, one)
		c.capability = one.Capability
		said := map[string]any{"id": one.ID}
		if err != nil {
			e := c.refuse(err)
			failed := map[string]any{"code": e.Code.Name, "message": e.Message}
			maps.Copy(failed, e.Extra)
			said["status"], said["error"] = "failed", failed
			c.record(itemName(i, one), e)
		} else {
			said["status"], said["data"] = "completed", out
			c.record(itemName(i, one), nil)
		}
		list[i] = said
	}
	return c.ok(map[string]any{"responses": list})
}

// itemName names an item of a batch to the ledger.
func itemName(i int, in *item) string {
	raw, _ := json.Marshal([]any{i, in.ID[:min(len(in.ID), 64)]}) // of a number and a text
	return string(raw)
}

func (c *call) one(i int, in *item) (json.RawMessage, error) {
	if i > 0 { // the first is the request itself
		if err := c.face.room.Take(c.by); err != nil {
			return nil, err
		}
	}
	p, x, err := c.visit(in)
	if err != nil {
		return nil, err
	}
	if a := x.Capability.Answer; a == config.AnswerAsync || a == config.AnswerStream {
		return nil, &visitors.Refusal{Code: visitors.UnsupportedInBatch, Message: "it does not answer at once: execute it by itself"}
	}
	return c.invoke(p, x)
}

// begin starts a run for an execute.
func (c *call) begin(p *venue.Principal, x *visitors.Execution) (id string, err error) {
	if id, err = p.Begin(c.ctx(), x.Operation, x.Input); err != nil {
		return "", err
	}
	return id, c.face.room.Began(c.ctx(), c.by, x.Capability.Name, id)
}

func (c *call) async(p *venue.Principal, x *visitors.Execution) error {
	id, err := c.begin(p, x)
	if err != nil {
		return err
	}
	c.record("", nil)
	c.w.Header().Set("Retry-After", "2")
	c.write(http.StatusAccepted, map[string]any{"status": "pending", "status_url": c.issuer + "/capability/status/" + id, "retry_after": pollAfter})
	return nil
}

// job tells of a run that the agent has begun.
func (c *call) job() (err error) {
	id := c.r.PathValue("id")
	if c.by, c.capability, err = c.face.room.Job(c.ctx(), c.request(), id); err != nil {
		return err
	}
	if err := c.face.room.Still(c.ctx(), c.by.Agent.ID, c.capability); err != nil {
		return err
	}
	rec, err := c.face.door.Venue.VisitorRun(c.ctx(), c.by.Agent.User, id)
	if err != nil {
		return err
	}
	if !rec.Over() {
		c.w.Header().Set("Retry-After", "2")
		c.write(http.StatusAccepted, map[string]any{"status": "pending", "retry_after": pollAfter})
		return nil
	}
	return c.ok(outcomeOf(&rec))
}

// outcomeOf is what became of a run.
func outcomeOf(rec *runs.Record) map[string]any {
	if rec.Status == runs.Complete {
		return map[string]any{"status": "completed", "data": rec.Output, "result": rec.Output}
	}
	e := failure(rec)
	return map[string]any{"status": "failed", "error": map[string]any{"code": e.Code.Name, "message": e.Message}}
}

// failure is why a run gave nothing. What its operation says of itself is not told.
func failure(rec *runs.Record) *visitors.Refusal {
	return withheld(rec.Code)
}

var errStream = &visitors.Refusal{Code: visitors.LimitExceeded, Message: "the stream has lasted as long as one may: execute it again"}

// stream sends the events of a run until that has ended, or the agent may no more.
func (c *call) stream(p *venue.Principal, x *visitors.Execution) error {
	// All of one host count together, however many register, by whichever keys.
	done, err := c.face.door.Streams.Begin("host "+c.by.Host.ID, c.by.Agent.Mode == visitors.Autonomous)
	if err != nil {
		return err
	}
	defer done()
	id, err := c.begin(p, x)
	if err != nil {
		return err
	}
	c.record("", nil)
	s := face.NewStream(c.w)
	agent, name := c.by.Agent.ID, x.Capability.Name
	user := c.by.Agent.User
	ctx, cancel := context.WithTimeoutCause(c.ctx(), maxStream, errStream)
	defer cancel()
	ctx, gone := context.WithCancelCause(ctx)
	defer gone(nil)
	watch := make(chan struct{})
	go func() { // ends with the stream, which waits for it
		defer close(watch)
		c.watch(ctx, gone, agent, name)
	}()
	defer func() { <-watch }()
	defer gone(nil)
	for e, err := range c.face.door.Venue.VisitorEvents(ctx, user, id) {
		if err != nil {
			break
		}
		if err := s.Send("", "data", entryView(&e)); err != nil {
			return nil // the client has gone
		}
	}
	if err := context.Cause(ctx); err != nil {
		c.cut(s, err)
		return nil
	}
	rec, err := c.face.door.Venue.VisitorRun(ctx, user, id)
	switch {
	case err != nil:
		c.cut(s, err)
	case !rec.Over():
		c.cut(s, &visitors.Refusal{Code: visitors.ApprovalRequired, Message: "it waits for a person"})
	case rec.Status != runs.Complete:
		c.cut(s, failure(&rec))
	default:
		if err := s.Send("", "data", rec.Output); err == nil {
			_ = s.Send("", "done", map[string]any{"data": rec.Output})
		}
	}
	return nil
}

// watch ends a stream when its agent may follow it no more.
func (c *call) watch(ctx context.Context, gone context.CancelCauseFunc, agent, capability string) {
	ticker := time.NewTicker(checkTime)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := c.face.room.Still(ctx, agent, capability); err != nil && ctx.Err() == nil {
				gone(err)
				return
			}
		}
	}
}

// cut ends a stream with an error.
func (c *call) cut(s *face.Stream, err error) {
	if errors.Is(err, context.Canceled) {
		return // the client has gone
	}
	e := refusal(err)
	_ = s.Send("", "error", map[string]any{"error": e.Code.Name, "message": e.Message})
}

// entryView is what a stream tells of an event: what happened, and when. What was read and said
// in it is the user's.
func entryView(e *runtime.Entry) map[string]any {
	out := map[string]any{"seq": e.Seq, "time": e.Time.UTC()}
	if step, ok := e.Event.(runtime.Step); ok {
		out["step"], out["status"] = step.Name, step.Status
	}
	return out
}
