package runtime

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"usher/caps/value"
)

// Kinds of [Kept].
const (
	KeptTask   = "task"   // asked of the agent, and no turn has answered it yet
	KeptDenial = "denial" // what the gate refused
	KeptOpen   = "open"   // a job that had not ended, or a call whose effect is unknown
)

// Kept is something that a conversation must not lose when it is shortened. It
// is kept in its own words: no model's summary is trusted with it.
type Kept struct {
	Kind  string `json:"kind"`
	Event uint64 `json:"event"`         // number of the event in the log that it comes of
	Job   string `json:"job,omitempty"` // of an open job: its id
	Text  string `json:"text"`
}

// Bounds of what is kept, without which anybody who can provoke denials or
// failing turns could fill a window for good.
const (
	maxKeptTasks   = 32       // the newest; the log has the others
	maxKeptTask    = 8 << 10  // bytes of a task but the last, which is kept whole
	maxKeptDenials = 64       // the newest; of the others how many there were
	maxKeptOpen    = 64       // the newest
	maxSummary     = 64 << 10 // bytes of a summary
)

// memory keeps what must not be lost of the conversation so far.
type memory struct {
	kept []Kept
	turn uint64 // event that began the last turn
}

func (m *memory) begin(seq uint64, said string) {
	m.turn = seq
	m.add(Kept{Kind: KeptTask, Event: seq, Text: said})
}

// add keeps one more. The same words once more are the newest.
func (m *memory) add(k Kept) {
	if k.Kind != KeptTask {
		m.drop(func(old Kept) bool { return old.Kind == k.Kind && old.Text == k.Text })
	}
	m.kept = append(m.kept, k)
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
	m.drop(func(k Kept) bool {
		return k.Kind == KeptTask && (k.Text == done || k.Text == value.Cut(done, maxKeptTask))
	})
}

// Operations that answer with jobs.
const (
	opRun       = "v/ops/grid/run"
	opInvoke    = "v/ops/grid/invoke"
	opRequest   = "v/ops/agent/request"
	opJobStatus = "v/ops/grid/job-status"
	opJobResult = "v/ops/grid/job-result"
)

func (m *memory) called(seq uint64, call ToolCall, done ToolFinished) {
	switch {
	case done.Outcome == ToolDenied:
		m.add(Kept{Kind: KeptDenial, Event: seq, Text: refusal(done.Result)})
	case done.Outcome == ToolStopped:
		m.add(Kept{Kind: KeptOpen, Event: seq, Text: done.Name + " " + value.Cut(call.Arguments, 500) + ": stopped, its effect is unknown"})
	case done.Outcome != ToolOK: // a job that was asked for in vain goes on
	case done.Operation == opJobResult:
		m.drop(func(k Kept) bool { return k.Job != "" && strings.Contains(call.Arguments, k.Job) })
	case done.Operation == opInvoke, done.Operation == opRequest, done.Operation == opJobStatus, done.Operation == opRun:
		job, runs, ok := jobIn(done.Result)
		if !ok {
			return
		}
		m.drop(func(k Kept) bool { return k.Job == job })
		if runs {
			m.add(Kept{Kind: KeptOpen, Event: seq, Job: job, Text: done.Name + ": job " + job + " was started and had not ended"})
		}
	}
}

func (m *memory) drop(what func(Kept) bool) { m.kept = slices.DeleteFunc(m.kept, what) }

// until returns what is kept of the events up to through, within its bounds.
func (m *memory) until(through uint64) []Kept {
	var tasks, denials, open []Kept
	for _, k := range m.kept {
		switch {
		case k.Event > through:
		case k.Kind == KeptTask:
			if k.Event != m.turn {
				k.Text = value.Cut(k.Text, maxKeptTask)
			}
			tasks = append(tasks, k)
		case k.Kind == KeptDenial:
			denials = append(denials, k)
		default:
			open = append(open, k)
		}
	}
	return slices.Concat(newest(tasks, maxKeptTasks), gathered(denials), newest(open, maxKeptOpen))
}

func newest[T any](list []T, most int) []T { return list[max(len(list)-most, 0):] }

var earlier = regexp.MustCompile(`^(\d+) earlier refusals of (.*)$`)

// gathered counts the oldest denials, beyond the bound, by what was refused.
func gathered(list []Kept) []Kept {
	if len(list) <= maxKeptDenials {
		return list
	}
	cut := len(list) - maxKeptDenials/2
	counts := make(map[string]int)
	var order []string
	for _, k := range list[:cut] {
		what, n := k.Text, 1
		if m := earlier.FindStringSubmatch(k.Text); m != nil {
			what = m[2]
			n, _ = strconv.Atoi(m[1]) // digits, by the pattern
		} else if i := strings.Index(what, " on "); i >= 0 {
			what = what[:i]
		}
		if counts[what] == 0 {
			order = append(order, what)
		}
		counts[what] += n
	}
	var out []Kept
	for _, what := range newest(order, maxKeptDenials/2) {
		out = append(out, Kept{Kind: KeptDenial, Event: list[cut-1].Event, Text: fmt.Sprintf("%d earlier refusals of %s", counts[what], what)})
	}
	return append(out, list[cut:]...)
}

// replace puts what a shortened conversation kept in the place of what it came of.
func (m *memory) replace(c Compacted) {
	m.drop(func(k Kept) bool { return k.Event <= c.Through })
	m.kept = append(slices.Clone(c.Kept), m.kept...)
}

var jobForm = regexp.MustCompile(`^[0-9A-HJKMNP-TV-Z]{26}$`)

// jobIn finds the job that a result tells of, and whether it still runs.
func jobIn(result string) (id string, runs, ok bool) {
	var r struct {
		ID     string `json:"id"`
		Status string `json:"status"`
	}
	if json.Unmarshal([]byte(result), &r) != nil || !jobForm.MatchString(r.ID) {
		return "", false, false
	}
	switch r.Status {
	case "STARTED", "PENDING", "PAUSED", "RUNNING":
		return r.ID, true, true
	}
	return r.ID, false, true
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
