package agui

import (
	"encoding/json"
	"strconv"

	"usher/caps/value"
)

// protocolVersion is the version of AG-UI that is spoken.
const protocolVersion = "1.0"

// emitter writes the events of one run of a client: first that it has begun, in the end how
// it ended, and nothing after that. What is open in between it closes itself.
type emitter struct {
	lane
	thread, run, version string
	send                 func(*event) error
	err                  error // of send: nothing is sent after it
	over                 bool
	subagents            map[string]int // by their runs, how often each began
}

// begin begins a run. of is the venue's id of it.
func begin(in *input, of string, send func(*event) error) *emitter {
	e := &emitter{thread: in.ThreadID, run: in.RunID, version: in.version(), send: send}
	e.lane = lane{out: e, of: of}
	e.put(&event{
		Type: runStarted, ThreadID: e.thread, RunID: e.run, ProtocolVersion: e.version, ParentRunID: in.ParentRunID,
		Metadata: map[string]any{"usher": map[string]string{"run": of}},
	})
	return e
}

// write sends one event.
func (e *emitter) write(ev *event) {
	if e.err == nil && !e.over {
		e.err = e.send(ev)
	}
}

// fresh is an id for the subagent that a run is: one that goes on after it rested is another.
func (e *emitter) fresh(run string) string {
	if e.subagents == nil {
		e.subagents = make(map[string]int)
	}
	e.subagents[run]++
	if n := e.subagents[run]; n > 1 {
		return run + "~" + strconv.Itoa(n)
	}
	return run
}

// outcome is how a run ended that did not fail. One of its fields is set, or none.
type outcome struct {
	result     json.RawMessage // of a success; nil is none
	pending    []string        // calls that the client has to make; of a success
	interrupts []interrupt
	cancelled  bool
}

// finish ends the run.
func (e *emitter) finish(o *outcome, used *usage) {
	e.close(len(o.interrupts) > 0)
	ev := &event{Type: runFinished, ThreadID: e.thread, RunID: e.run, Outcome: &ending{Type: "success"}, Usage: *used}
	if string(o.result) != "null" {
		ev.Result = o.result
	}
	switch {
	case len(o.interrupts) > 0:
		ev.Outcome = &ending{Type: "interrupt", Interrupts: o.interrupts}
	case o.cancelled:
		ev.Outcome.Type = "cancelled"
	case e.version != "": // older clients refuse the whole event by it
		ev.Outcome.Pending = o.pending
	}
	e.write(ev)
	e.over = true
}

// fail ends the run by an error.
func (e *emitter) fail(code, message string, used *usage) {
	e.close(false)
	e.write(&event{Type: runError, Message: &message, Code: code, Usage: *used})
	e.over = true
}

// state tells the state of the thread whole.
func (e *emitter) state(doc any) {
	e.write(&event{Type: stateSnapshot, Snapshot: value.Append(nil, doc)})
}

// delta tells what of the state has become another (RFC 6902).
func (e *emitter) delta(patch []any) {
	e.write(&event{Type: stateDelta, Delta: json.RawMessage(value.Append(nil, patch))})
}

// messages tells what was said in the thread.
func (e *emitter) messages(list []messageView) {
	if list == nil {
		list = []messageView{}
	}
	e.write(&event{Type: messagesSnapshot, Messages: list})
}

// custom tells what the protocol has no event for.
func (e *emitter) custom(name string, what json.RawMessage) {
	e.write(&event{Type: custom, Name: name, Value: what})
}
