package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"usher/runtime"
	"usher/tools/fault"
	"usher/ucan"
	"usher/venue/ledger"
	"usher/venue/store"
)

// OpenCall is a call of a run that never came to an outcome: its effect is unknown, or it
// was never started.
type OpenCall struct {
	ID        string               `json:"id"`   // as the model gave it; of a run that is one call the run's
	Name      string               `json:"name"` // of the tool
	Operation string               `json:"operation,omitempty"`
	Arguments string               `json:"arguments,omitempty"` // the first of them; none where they may hold a secret
	Outcome   string               `json:"outcome"`             // unknown, stopped or not_started: see [runtime.ToolEnd]
	Said      *runtime.OutcomeNote `json:"said,omitempty"`      // what a person said of it since

	event uint64 // of its result
}

// IsUnknown reports whether nobody knows the effect of the call.
func (c *OpenCall) IsUnknown() bool { return c.Outcome != runtime.ToolNotStarted }

// OpenCalls lists the calls of a run that never came to an outcome, as its log has them.
func (b *Book) OpenCalls(ctx context.Context, owner ucan.DID, id string) ([]OpenCall, error) {
	rec, err := b.Find(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	if rec.Session != "" {
		return b.openOf(ctx, &rec)
	}
	if !rec.Over() || rec.Code != fault.Unknown {
		return nil, nil
	}
	call := OpenCall{ID: id, Name: cmp.Or(rec.Ref, rec.Op), Operation: rec.Op, Outcome: runtime.ToolUnknown}
	for row, err := range store.Rows(ctx, b.opts.Store, logKey(owner, id, ""), "") {
		var e runtime.Entry
		if err == nil {
			err = json.Unmarshal(row.Value, &e)
		}
		if err != nil {
			return nil, err
		}
		if said, ok := e.Event.(runtime.OutcomeNote); ok {
			call.Said = &said
		}
	}
	return []OpenCall{call}, nil
}

// Interruption returns how a turn or a task was cut that nobody drives, or nil: also where
// no call was open. One that has ended says so itself, and one that waits for what.
func (b *Book) Interruption(ctx context.Context, owner ucan.DID, id string) (*runtime.TurnEnd, error) {
	rec, err := b.Find(ctx, owner, id)
	if err != nil || rec.Status != Started || rec.Session == "" || b.Live(owner, id) != nil {
		return nil, err
	}
	return b.sessions.Interruption(ctx, rec.Of, rec.Session)
}

// openOf is [Book.OpenCalls] of a turn or a task. It reads on after the end of the turn
// only for what was said of calls that were open then.
func (b *Book) openOf(ctx context.Context, rec *Record) (open []OpenCall, err error) {
	asked := make(map[string]runtime.ToolCall)
	for e, err := range b.sessions.Entries(ctx, rec.Of, rec.Session, rec.From) {
		if err != nil {
			return nil, err
		}
		if e.Run != rec.ID && !runtime.IsLeft(e.Event) {
			continue
		}
		switch ev := e.Event.(type) {
		case runtime.ModelAnswer:
			for _, call := range ev.Calls {
				asked[call.ID] = call
			}
		case runtime.ToolEnd:
			switch ev.Outcome {
			case runtime.ToolUnknown, runtime.ToolStopped, runtime.ToolNotStarted:
				open = append(open, OpenCall{
					ID: ev.CallID, Name: ev.Name, Operation: ev.Operation, Arguments: asked[ev.CallID].BriefArguments(), Outcome: ev.Outcome, event: e.Seq,
				})
			}
		case runtime.OutcomeNote:
			if i := slices.IndexFunc(open, func(c OpenCall) bool { return c.event == ev.Event }); i >= 0 {
				open[i].Said = &ev
			}
		case runtime.TurnEnd:
			if !slices.ContainsFunc(open, func(c OpenCall) bool { return c.IsUnknown() }) {
				return open, nil
			}
		}
	}
	return open, nil
}

// maxNote bounds what a person notes of a call, in bytes.
const maxNote = 4 << 10

// Testify notes what a person says of a call of a run whose effect is unknown: once, in
// the log of the run, in the ledger, and for the next turn of its session. By, Outcome and
// Note of say are theirs; the rest is filled in.
func (b *Book) Testify(ctx context.Context, owner ucan.DID, id, call string, say runtime.OutcomeNote) (said runtime.OutcomeNote, err error) {
	if len(say.Note) > maxNote {
		return said, fault.New(fault.TooLarge, fmt.Sprintf("the note has %d bytes, at most %d", len(say.Note), maxNote))
	}
	b.saying.Lock()
	defer b.saying.Unlock()
	open, err := b.OpenCalls(ctx, owner, id)
	if err != nil {
		return said, err
	}
	at := slices.IndexFunc(open, func(c OpenCall) bool { return c.ID == call && c.IsUnknown() && c.Said == nil })
	if at < 0 { // models may use an id again
		at = slices.IndexFunc(open, func(c OpenCall) bool { return c.ID == call })
	}
	if at < 0 {
		return said, fault.New(fault.NotFound, fmt.Sprintf("run %s has no call %.80q whose effect is unknown", id, call))
	}
	of := &open[at]
	switch {
	case !of.IsUnknown():
		return said, fault.New(fault.InTheWay, fmt.Sprintf("call %s was never started: nothing of it happened", call))
	case of.Said != nil:
		return said, fault.New(fault.InTheWay, fmt.Sprintf("%s has said already of call %s: %s", of.Said.By, call, of.Said.Outcome))
	}
	say.Run, say.Event, say.CallID, say.Name, say.Operation, say.Arguments = id, of.event, of.ID, of.Name, of.Operation, of.Arguments
	rec, err := b.Find(ctx, owner, id)
	if err != nil {
		return said, err
	}
	whole := context.WithValue(context.WithoutCancel(ctx), runKeyType{}, (*Run)(nil)) // a person says it, and no run
	if rec.Session == "" {
		return say, b.testify(whole, owner, &rec, &say)
	}
	s, release, err := b.sessions.Open(ctx, rec.Of, rec.Session, true)
	if err != nil {
		return said, err
	}
	defer release()
	return say, s.Testify(whole, b.opts.Now(), say)
}

// testify writes what was said into the log of a run that has one of its own.
func (b *Book) testify(ctx context.Context, owner ucan.DID, rec *Record, said *runtime.OutcomeNote) error {
	e := runtime.Entry{Seq: 1, Time: b.opts.Now(), Run: rec.ID, Parent: rec.Parent, Event: *said}
	for row, err := range store.Rows(ctx, b.opts.Store, logKey(owner, rec.ID, ""), "") {
		var last runtime.Entry
		if err == nil {
			err = json.Unmarshal(row.Value, &last)
		}
		if err != nil {
			return err
		}
		e.Seq = last.Seq + 1
	}
	raw, err := json.Marshal(e)
	if err != nil {
		return err
	}
	key := logKey(owner, rec.ID, fmt.Sprintf("%08x", e.Seq))
	return b.write(ctx, outcomeNote("", said), ledger.Batch{Expect: map[string]uint64{key: 0}, Put: map[string][]byte{key: raw}})
}
