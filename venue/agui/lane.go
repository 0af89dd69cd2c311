package agui

import (
	"encoding/json"
	"slices"
	"strconv"

	"usher/caps/value"
	"usher/runtime"
)

// lane is what one agent does in a run: the one that runs, or a subagent. Of texts and
// thoughts one is open at most, and it closes when anything else comes. What is said of a
// lane that has ended is not told.
type lane struct {
	out   *emitter
	of    string // by which ids begin: the venue's run, or the subagent
	sub   string // id of the subagent; empty for the agent itself
	up    *lane  // of the agent that a subagent works for
	ended bool

	answers int // that are whole
	broken  int // that broke off, of the one that comes
	open    string
	thinks  bool // what is open is a thought
	steps   []string
	below   []*lane
}

// put sends an event of the lane.
func (l *lane) put(kind string, fill func(*value.Writer)) {
	if !l.ended {
		l.out.write(kind, l.sub, fill)
	}
}

// id is that of a message of the answer that comes.
func (l *lane) id(kind string) string {
	id := l.of + kind + strconv.Itoa(l.answers+1)
	if l.broken > 0 {
		id += "b" + strconv.Itoa(l.broken)
	}
	return id
}

// call is how a call of a tool is named outside: models name theirs anew in each run.
func (l *lane) call(id string) string { return runtime.CallName(l.of, id) }

// resultMark ends the id of the message that a result is, behind that of its call.
const resultMark = "-r"

// say goes on with the text that comes, or begins one.
func (l *lane) say(piece string) {
	if piece == "" {
		return
	}
	if l.open == "" || l.thinks {
		l.hush()
		l.open = l.id("-m")
		l.put(textStart, func(w *value.Writer) {
			w.Text("messageId", l.open)
			w.Text("role", "assistant")
		})
	}
	l.piece(textContent, piece)
}

// think goes on with the thought that comes, or begins one.
func (l *lane) think(piece string) {
	if piece == "" {
		return
	}
	if l.open == "" || !l.thinks {
		l.hush()
		l.open, l.thinks = l.id("-t"), true
		l.message(reasoningStart)
		l.put(reasoningMessageStart, func(w *value.Writer) {
			w.Text("messageId", l.open)
			w.Text("role", "reasoning")
		})
	}
	l.piece(reasoningContent, piece)
}

func (l *lane) piece(kind, text string) {
	l.put(kind, func(w *value.Writer) {
		w.Text("messageId", l.open)
		w.Text("delta", text)
	})
}

// message sends an event that has nothing but the message that is open.
func (l *lane) message(kind string) {
	l.put(kind, func(w *value.Writer) { w.Text("messageId", l.open) })
}

// hush closes what is said or thought.
func (l *lane) hush() {
	switch {
	case l.open == "":
		return
	case l.thinks:
		l.message(reasoningMessageEnd)
		l.message(reasoningEnd)
	default:
		l.message(textEnd)
	}
	l.open, l.thinks = "", false
}

// breaks closes an answer that breaks off and comes anew.
func (l *lane) breaks() {
	if l.open != "" {
		l.hush()
		l.broken++
	}
}

// toolCall is a call of a tool.
type toolCall struct{ id, name, arguments string }

// answered ends the answer that comes, with the calls that it wants.
func (l *lane) answered(calls []toolCall) {
	l.hush()
	parent := l.id("-m")
	for _, c := range calls {
		id := l.call(c.id)
		l.put(toolCallStart, func(w *value.Writer) {
			w.Text("toolCallId", id)
			w.Text("toolCallName", c.name)
			w.Text("parentMessageId", parent)
		})
		if c.arguments != "" {
			l.put(toolCallArgs, func(w *value.Writer) {
				w.Text("toolCallId", id)
				w.Text("delta", c.arguments)
			})
		}
		l.put(toolCallEnd, func(w *value.Writer) { w.Text("toolCallId", id) })
	}
	l.answers, l.broken = l.answers+1, 0
}

// result tells what came of a call.
func (l *lane) result(call, content string) {
	l.hush()
	l.put(toolCallResult, func(w *value.Writer) {
		w.Text("messageId", l.call(call)+resultMark)
		w.Text("toolCallId", l.call(call))
		w.Text("content", content)
		w.Text("role", "tool")
	})
}

// step tells that a step begins, or ends. One that did not begin does not end.
func (l *lane) step(name string, begins bool) {
	l.hush()
	open := slices.Index(l.steps, name)
	switch {
	case begins && open < 0:
		l.steps = append(l.steps, name)
		l.put(stepStarted, func(w *value.Writer) { w.Text("stepName", name) })
	case !begins && open >= 0:
		l.steps = slices.Delete(l.steps, open, open+1)
		l.put(stepFinished, func(w *value.Writer) { w.Text("stepName", name) })
	}
}

// activity tells what goes on that is no part of the conversation. A later one of the name
// takes its place.
func (l *lane) activity(name, kind string, content json.RawMessage) {
	l.put(activitySnapshot, func(w *value.Writer) {
		w.Text("messageId", l.of+"-a-"+name)
		w.Text("activityType", kind)
		w.Raw("content", content)
	})
}

// subagent is who works for an agent in a run.
type subagent struct {
	run, name, description string
	call                   string          // that it works for; empty is not known
	caps                   json.RawMessage // what it may do; nil is not told
}

// begins begins the lane of a subagent.
func (l *lane) begins(s *subagent) *lane {
	sub := l.out.fresh(s.run)
	under := &lane{out: l.out, of: sub, sub: sub, up: l, ended: l.ended}
	if l.ended {
		return under
	}
	l.below = append(l.below, under)
	under.put(subagentStarted, func(w *value.Writer) {
		w.Text("name", s.name)
		w.Some("description", s.description)
		w.Some("parentSubagentRunId", l.sub)
		if s.call != "" {
			w.Text("parentToolCallId", l.call(s.call))
		}
		if s.caps != nil {
			w.Begin("metadata")
			w.Begin("cog13")
			w.Raw("caps", s.caps)
			w.End()
			w.End()
		}
	})
	return under
}

// ends ends the lane of a subagent: by an error, where there is a code, or else at its end, or
// because it waits.
func (l *lane) ends(code, message string, waits bool) {
	if l.ended || l.up == nil {
		return
	}
	l.close(waits)
	if code != "" {
		l.put(subagentError, func(w *value.Writer) {
			w.Text("message", message)
			w.Text("code", code)
		})
	} else {
		l.put(subagentFinished, func(w *value.Writer) {
			w.Begin("outcome")
			w.Text("type", map[bool]string{false: "success", true: "suspended"}[waits])
			w.End()
		})
	}
	l.ended = true
	l.up.below = slices.DeleteFunc(l.up.below, func(other *lane) bool { return other == l })
}

// close closes all that is open in the lane, with the subagents.
func (l *lane) close(waits bool) {
	for len(l.below) > 0 {
		l.below[len(l.below)-1].ends("", "", waits)
	}
	l.hush()
	for len(l.steps) > 0 {
		l.step(l.steps[len(l.steps)-1], false)
	}
}
