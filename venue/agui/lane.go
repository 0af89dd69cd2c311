package agui

import (
	"encoding/json"
	"slices"
	"strconv"

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
func (l *lane) put(ev *event) {
	if !l.ended {
		ev.SubagentRun = l.sub
		l.out.write(ev)
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
		l.put(&event{Type: textStart, MessageID: l.open, Role: assistant})
	}
	l.put(&event{Type: textContent, MessageID: l.open, Delta: piece})
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
		l.put(&event{Type: reasoningMessageStart, MessageID: l.open, Role: "reasoning"})
	}
	l.put(&event{Type: reasoningContent, MessageID: l.open, Delta: piece})
}

// message sends an event that has nothing but the message that is open.
func (l *lane) message(kind string) {
	l.put(&event{Type: kind, MessageID: l.open})
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

// endAnswer ends the answer that comes, with the calls that it wants.
func (l *lane) endAnswer(calls []runtime.ToolCall) {
	l.hush()
	parent := l.id("-m")
	for _, c := range calls {
		id := l.call(c.ID)
		l.put(&event{Type: toolCallStart, CallID: id, CallName: &c.Name, ParentMessage: parent})
		if c.Arguments != "" {
			l.put(&event{Type: toolCallArgs, CallID: id, Delta: c.Arguments})
		}
		l.put(&event{Type: toolCallEnd, CallID: id})
	}
	l.answers, l.broken = l.answers+1, 0
}

// result tells what came of a call.
func (l *lane) result(call, content string) {
	l.hush()
	l.put(&event{Type: toolCallResult, MessageID: l.call(call) + resultMark, CallID: l.call(call), Content: content, Role: tool})
}

// step tells that a step begins, or ends. One that did not begin does not end.
func (l *lane) step(name string, begins bool) {
	l.hush()
	open := slices.Index(l.steps, name)
	switch {
	case begins && open < 0:
		l.steps = append(l.steps, name)
		l.put(&event{Type: stepStarted, StepName: name})
	case !begins && open >= 0:
		l.steps = slices.Delete(l.steps, open, open+1)
		l.put(&event{Type: stepFinished, StepName: name})
	}
}

// activity tells what goes on that is no part of the conversation. A later one of the name
// takes its place.
func (l *lane) activity(name, kind string, content any) {
	l.put(&event{Type: activitySnapshot, MessageID: l.of + "-a-" + name, ActivityType: kind, Content: content})
}

// subagent is who works for an agent in a run.
type subagent struct {
	run, name, description string
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
	ev := &event{Type: subagentStarted, Name: s.name, Description: s.description, ParentSubagent: l.sub}
	if s.caps != nil {
		ev.Metadata = map[string]any{"cog13": map[string]any{"caps": s.caps}}
	}
	under.put(ev)
	return under
}

// ends ends the lane of a subagent: by an error, where there is a code, or else at its end, or
// because it waits.
func (l *lane) ends(code, message string, waits bool) {
	if l.ended || l.up == nil {
		return
	}
	l.close(waits)
	switch {
	case code != "":
		l.put(&event{Type: subagentError, Message: &message, Code: code})
	case waits:
		l.put(&event{Type: subagentFinished, Outcome: &ending{Type: "suspended"}})
	default:
		l.put(&event{Type: subagentFinished, Outcome: &ending{Type: "success"}})
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
