package runtime

import (
	"encoding/json"
	"slices"
	"strings"
)

// Kinds of [Kept].
const (
	KeptTask   = "task"   // asked of the agent, and no turn has answered it yet
	KeptDenial = "denial" // what the gate refused, and why
	KeptOpen   = "open"   // a job that had not ended, or a call whose effect is unknown
)

// Kept is something that a conversation must not lose when it is shortened. It
// is kept word for word: no model's summary is trusted with it.
type Kept struct {
	Kind  string `json:"kind"`
	Event uint64 `json:"event"`         // number of the event in the log that it comes of
	Job   string `json:"job,omitempty"` // of an open job: its id
	Text  string `json:"text"`
}

// memory keeps what must not be lost of the conversation so far.
type memory struct {
	kept []Kept
	turn uint64 // event that began the last turn
}

func (m *memory) begin(seq uint64, said string) {
	m.turn = seq
	m.kept = append(m.kept, Kept{Kind: KeptTask, Event: seq, Text: said})
}

// finish forgets the task of a turn that came to its answer, and with it
// earlier tries at the same.
func (m *memory) finish(end TurnFinished) {
	if end.Error != "" {
		return
	}
	i := slices.IndexFunc(m.kept, func(k Kept) bool { return k.Kind == KeptTask && k.Event == m.turn })
	if i < 0 {
		return
	}
	done := m.kept[i].Text
	m.drop(func(k Kept) bool { return k.Kind == KeptTask && k.Text == done })
}

func (m *memory) called(seq uint64, call ToolCall, done ToolFinished) {
	switch done.Outcome {
	case ToolDenied:
		why := messageIn(done.Result)
		if !slices.ContainsFunc(m.kept, func(k Kept) bool { return k.Kind == KeptDenial && k.Text == why }) {
			m.kept = append(m.kept, Kept{Kind: KeptDenial, Event: seq, Text: why})
		}
		return
	case ToolStopped:
		m.kept = append(m.kept, Kept{Kind: KeptOpen, Event: seq, Text: done.Name + " " + shorten(call.Arguments, 500) + ": stopped, its effect is unknown"})
		return
	}
	job, runs := jobIn(done.Result)
	if runs {
		m.drop(func(k Kept) bool { return k.Job == job })
		m.kept = append(m.kept, Kept{Kind: KeptOpen, Event: seq, Job: job, Text: done.Name + ": job " + job + " was started and had not ended"})
		return
	}
	// Whoever asks for a job by its id, and is told anything but that it runs,
	// knows how it ended.
	m.drop(func(k Kept) bool { return k.Job != "" && strings.Contains(call.Arguments, k.Job) })
}

func (m *memory) drop(what func(Kept) bool) { m.kept = slices.DeleteFunc(m.kept, what) }

// until returns what is kept of the events up to through.
func (m *memory) until(through uint64) []Kept {
	var out []Kept
	for _, k := range m.kept {
		if k.Event <= through {
			out = append(out, k)
		}
	}
	return out
}

// replace puts what a shortened conversation kept in the place of what it came of.
func (m *memory) replace(c Compacted) {
	m.drop(func(k Kept) bool { return k.Event <= c.Through })
	m.kept = append(slices.Clone(c.Kept), m.kept...)
}

// jobIn finds the job that a result says has not ended yet.
func jobIn(result string) (id string, runs bool) {
	if !strings.Contains(result, `"status"`) || len(result) > 64<<10 {
		return "", false
	}
	var r struct {
		ID     string `json:"id"`
		Status string `json:"status"`
	}
	if json.Unmarshal([]byte(result), &r) != nil || r.ID == "" {
		return "", false
	}
	switch r.Status {
	case "STARTED", "PENDING", "PAUSED", "RUNNING":
		return r.ID, true
	}
	return "", false
}

// messageIn is the message of a structured error, or all of it.
func messageIn(result string) string {
	var r struct {
		Message string `json:"message"`
	}
	if json.Unmarshal([]byte(result), &r) != nil || r.Message == "" {
		return result
	}
	return r.Message
}

// shorten keeps the beginning of a text, in whole characters.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " …"
}
