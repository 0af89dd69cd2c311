package agui

import (
	"encoding/json"
	"slices"
	"strconv"

	"usher/caps/value"
	"usher/runtime"
)

// Kinds of events (AG-UI 1.0, "Events").
const (
	runStarted  = "RUN_STARTED"
	runFinished = "RUN_FINISHED"
	runError    = "RUN_ERROR"

	textStart   = "TEXT_MESSAGE_START"
	textContent = "TEXT_MESSAGE_CONTENT"
	textEnd     = "TEXT_MESSAGE_END"

	reasoningStart        = "REASONING_START"
	reasoningMessageStart = "REASONING_MESSAGE_START"
	reasoningContent      = "REASONING_MESSAGE_CONTENT"
	reasoningMessageEnd   = "REASONING_MESSAGE_END"
	reasoningEnd          = "REASONING_END"

	toolCallStart  = "TOOL_CALL_START"
	toolCallArgs   = "TOOL_CALL_ARGS"
	toolCallEnd    = "TOOL_CALL_END"
	toolCallResult = "TOOL_CALL_RESULT"

	stepStarted  = "STEP_STARTED"
	stepFinished = "STEP_FINISHED"

	stateSnapshot    = "STATE_SNAPSHOT"
	stateDelta       = "STATE_DELTA"
	messagesSnapshot = "MESSAGES_SNAPSHOT"
	activitySnapshot = "ACTIVITY_SNAPSHOT"
	custom           = "CUSTOM"

	subagentStarted  = "SUBAGENT_STARTED"
	subagentFinished = "SUBAGENT_FINISHED"
	subagentError    = "SUBAGENT_ERROR"
)

// protocolVersion is the version of AG-UI that is spoken.
const protocolVersion = "1.0"

// emitter writes the events of one run of a client: first that it has begun, in the end how
// it ended, and nothing after that. What is open in between it closes itself.
type emitter struct {
	lane
	thread, run, version string
	send                 func(json.RawMessage) error
	err                  error // of send: nothing is sent after it
	over                 bool
	subagents            map[string]int // by their runs, how often each began
}

// begin begins a run. of is the venue's id of it.
func begin(in *input, of string, send func(json.RawMessage) error) *emitter {
	e := &emitter{thread: in.ThreadID, run: in.RunID, version: in.version(), send: send}
	e.lane = lane{out: e, of: of}
	e.put(runStarted, func(w *value.Writer) {
		w.Text("threadId", e.thread)
		w.Text("runId", e.run)
		w.Some("protocolVersion", e.version)
		w.Some("parentRunId", in.ParentRunID)
		w.Begin("metadata")
		w.Begin("usher")
		w.Text("run", of)
		w.End()
		w.End()
	})
	return e
}

// write sends one event.
func (e *emitter) write(kind, subagent string, fill func(*value.Writer)) {
	if e.err != nil || e.over {
		return
	}
	w := value.NewWriter()
	w.Text("type", kind)
	w.Some("subagentRunId", subagent)
	fill(&w)
	e.err = e.send(w.Object())
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
	e.write(runFinished, "", func(w *value.Writer) {
		w.Text("threadId", e.thread)
		w.Text("runId", e.run)
		if len(o.result) > 0 && string(o.result) != "null" {
			w.Raw("result", o.result)
		}
		w.Begin("outcome")
		switch {
		case len(o.interrupts) > 0:
			w.Text("type", "interrupt")
			w.List("interrupts", len(o.interrupts), func(i int) { o.interrupts[i].write(w) })
		case o.cancelled:
			w.Text("type", "cancelled")
		default:
			w.Text("type", "success")
			if e.version != "" { // older clients refuse the whole event by it
				w.Texts("pendingToolCallIds", o.pending)
			}
		}
		w.End()
		used.write(w)
	})
	e.over = true
}

// fail ends the run by an error.
func (e *emitter) fail(code, message string, used *usage) {
	e.close(false)
	e.write(runError, "", func(w *value.Writer) {
		w.Text("message", message)
		w.Some("code", code)
		used.write(w)
	})
	e.over = true
}

// state tells the state of the thread whole.
func (e *emitter) state(doc any) {
	e.write(stateSnapshot, "", func(w *value.Writer) { w.Raw("snapshot", value.Append(nil, doc)) })
}

// delta tells what of the state has become another (RFC 6902).
func (e *emitter) delta(patch []any) {
	e.write(stateDelta, "", func(w *value.Writer) { w.Raw("delta", value.Append(nil, patch)) })
}

// messages tells what was said in the thread.
func (e *emitter) messages(list []message) {
	e.write(messagesSnapshot, "", func(w *value.Writer) {
		raw := []byte{'['}
		for i := range list {
			if i > 0 {
				raw = append(raw, ',')
			}
			raw = append(raw, list[i].encode()...)
		}
		w.Raw("messages", append(raw, ']'))
	})
}

// custom tells what the protocol has no event for.
func (e *emitter) custom(name string, what json.RawMessage) {
	e.write(custom, "", func(w *value.Writer) {
		w.Text("name", name)
		w.Raw("value", what)
	})
}

// usage is what the models of a run have used, by their names.
type usage struct {
	models []string
	of     map[string]runtime.Usage
}

// add counts what an answer has used. A model that counts nothing has told nothing.
func (u *usage) add(model string, used runtime.Usage) {
	if used == (runtime.Usage{}) {
		return
	}
	if u.of == nil {
		u.of = make(map[string]runtime.Usage)
	}
	if !slices.Contains(u.models, model) {
		u.models = append(u.models, model)
	}
	u.of[model] = u.of[model].Plus(used)
}

func (u *usage) write(w *value.Writer) {
	w.List("usage", len(u.models), func(i int) {
		used := u.of[u.models[i]]
		w.Some("model", u.models[i])
		w.Int("inputTokens", int64(used.Input))
		w.Int("outputTokens", int64(used.Output))
		w.Int("totalTokens", int64(used.Input+used.Output))
		w.Count("cachedInputTokens", int64(used.CacheRead))
		w.Count("cacheWriteInputTokens", int64(used.CacheWrite))
	})
}
