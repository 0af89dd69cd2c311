package runtime

import (
	"encoding/json"
	"slices"
	"strings"

	"usher/caps/value"
)

// Kinds of [MemoryItem].
const (
	keptTask   = "task"   // asked of the agent, and no turn has answered it yet
	keptDenial = "denial" // what the gate refused
	keptOpen   = "open"   // a call whose effect is unknown
)

// MemoryItem is something that a conversation must not lose when it is shortened. It
// is kept in its own words: no model's summary is trusted with it.
type MemoryItem struct {
	Kind  string `json:"kind"`
	Event uint64 `json:"event"` // number of the event in the log that it comes of
	Text  string `json:"text"`
	Count int    `json:"count,omitempty"` // denials that stand here together, by what all of them refused
}

// Bounds of what is kept, without which anybody who can provoke denials or
// failing turns could fill a window for good.
const (
	maxKept     = 32       // of a kind, the newest; other denials are counted
	maxKeptTask = 8 << 10  // bytes of a task but the last, which is kept whole
	maxSummary  = 64 << 10 // bytes of a summary

	maxKeptTasks = maxKept * maxKeptTask // bytes of all tasks but the last, as JSON
)

// memory keeps what must not be lost of the conversation so far.
type memory struct {
	kept []MemoryItem
	turn uint64 // event that began the last turn
}

func (m *memory) begin(seq uint64, said string) {
	if said == "" {
		return // it goes on with what was asked before
	}
	m.turn = seq
	m.add(MemoryItem{Kind: keptTask, Event: seq, Text: said})
}

// add keeps one more. The same words once more are the newest.
func (m *memory) add(k MemoryItem) {
	if k.Kind != keptTask {
		m.drop(func(old MemoryItem) bool { return old.Kind == k.Kind && old.Text == k.Text && old.Count == 0 })
	}
	m.kept = append(m.kept, k)
}

// finish forgets the task of a turn that came to its answer, and with it
// earlier tries at the same.
func (m *memory) finish(end TurnEnd) {
	if end.Error != "" || len(end.Pending) > 0 {
		return
	}
	i := slices.IndexFunc(m.kept, func(k MemoryItem) bool { return k.Kind == keptTask && k.Event == m.turn })
	if i < 0 {
		return
	}
	done := m.kept[i].Text
	m.drop(func(k MemoryItem) bool {
		return k.Kind == keptTask && (k.Text == done || k.Text == value.Cut(done, maxKeptTask))
	})
}

// noteCall notes a call that must be known of.
func (m *memory) noteCall(seq uint64, call ToolCall, done ToolEnd) {
	switch done.Outcome {
	case ToolDenied:
		m.add(MemoryItem{Kind: keptDenial, Event: seq, Text: refusal(done.Result)})
	case ToolStopped, ToolUnknown:
		m.add(MemoryItem{Kind: keptOpen, Event: seq, Text: done.Name + " " + value.Cut(call.Arguments, maxArguments) + ": stopped, its effect is unknown"})
	}
}

func (m *memory) drop(what func(MemoryItem) bool) { m.kept = slices.DeleteFunc(m.kept, what) }

// until returns what is kept of the events up to through, within its bounds.
func (m *memory) until(through uint64) []MemoryItem {
	of := make(map[string][]MemoryItem)
	for _, k := range m.kept {
		if k.Kind == keptTask && k.Event != m.turn {
			k.Text = value.Cut(k.Text, maxKeptTask)
		}
		if k.Event <= through {
			of[k.Kind] = append(of[k.Kind], k)
		}
	}
	return slices.Concat(within(newest(of[keptTask]), maxKeptTasks), gather(of[keptDenial]), newest(of[keptOpen]))
}

func newest[T any](list []T) []T { return list[max(len(list)-maxKept, 0):] }

// within leaves out the oldest of a list, but never the last, where those before the
// last take more bytes as JSON.
func within(list []MemoryItem, bytes int) []MemoryItem {
	for i := len(list) - 2; i >= 0; i-- {
		if bytes -= jsonSize(list[i].Text); bytes < 0 {
			return list[i+1:]
		}
	}
	return list
}

// gather counts the oldest of many denials by what was refused.
func gather(list []MemoryItem) []MemoryItem {
	late := newest(list)
	early := list[:len(list)-len(late)]
	if len(early) <= maxKept {
		return list
	}
	var out []MemoryItem
	for _, k := range early {
		k.Text, _, _ = strings.Cut(k.Text, " on ")
		k.Count = max(k.Count, 1)
		if i := slices.IndexFunc(out, func(g MemoryItem) bool { return g.Text == k.Text }); i >= 0 {
			k.Count += out[i].Count
			out = slices.Delete(out, i, i+1)
		}
		out = append(out, k)
	}
	return append(newest(out), late...)
}

// replace puts what a shortened conversation kept in the place of what it came of.
func (m *memory) replace(c Compaction) {
	m.drop(func(k MemoryItem) bool { return k.Event <= c.Through })
	m.kept = append(slices.Clone(c.Kept), m.kept...)
}

// refusal is what a denial refused: the operation, the ability and the
// resource. What the agent held then is not what it holds later.
func refusal(result string) string {
	var d struct {
		Operation string `json:"operation"`
		Ability   string `json:"ability"`
		Resource  string `json:"resource"`
	}
	if json.Unmarshal([]byte(result), &d) != nil || d.Operation == "" {
		return value.Cut(result, 500)
	}
	text := "Capability denied: " + d.Operation + " requires " + d.Ability
	if d.Resource != "" {
		text += " on " + d.Resource
	}
	return text + "."
}
