package runtime

import (
	"slices"
	"strconv"
	"strings"
)

// assembly puts an answer together from its pieces.
type assembly struct {
	answer   ModelAnswer
	text     strings.Builder
	thoughts strings.Builder
	calls    []callPieces
	came     bool  // something, if only word of a wait
	err      error // why no more of it is taken
}

type callPieces struct {
	index     int
	call      ToolCall
	arguments []byte
}

func (a *assembly) add(chunk Chunk) {
	a.text.WriteString(chunk.Text)
	a.thoughts.WriteString(chunk.Reasoning)
	if chunk.Call != nil {
		a.addCall(chunk.Call)
	}
	if chunk.Usage != nil {
		a.answer.Usage = chunk.Usage.Sane()
	}
	if chunk.Finish != "" {
		a.answer.Finish = chunk.Finish
	}
	if chunk.Model != "" {
		a.answer.Model = chunk.Model
	}
}

func (a *assembly) addCall(d *CallDelta) {
	i := slices.IndexFunc(a.calls, func(p callPieces) bool { return p.index == d.Index })
	if i < 0 {
		i = len(a.calls)
		a.calls = append(a.calls, callPieces{index: d.Index})
	}
	p := &a.calls[i]
	if d.ID != "" {
		p.call.ID = d.ID
	}
	if d.Name != "" {
		p.call.Name = d.Name
	}
	p.arguments = append(p.arguments, d.Arguments...)
}

// maxID bounds a call's id, in bytes: some gateways keep what the model thought in it.
const maxID = 64 << 10

// complete returns the answer. Calls that came without an id, with another's or
// with one of no sensible length get one: results are matched by it.
func (a *assembly) complete(number int) ModelAnswer {
	a.answer.Text = a.text.String()
	if len(a.calls) == 0 {
		return a.answer
	}
	a.answer.Reasoning = a.thoughts.String()
	calls := make([]ToolCall, len(a.calls))
	taken := make(map[string]bool, len(a.calls))
	for i, p := range a.calls {
		calls[i] = p.call
		calls[i].Arguments = string(p.arguments)
		if id := p.call.ID; taken[id] || len(id) > maxID {
			calls[i].ID = ""
		} else {
			taken[id] = true
		}
	}
	for i := range calls {
		for n := i; calls[i].ID == ""; n += len(calls) {
			if id := "call-" + strconv.Itoa(number) + "-" + strconv.Itoa(n); !taken[id] {
				calls[i].ID, taken[id] = id, true
			}
		}
	}
	a.answer.Calls = calls
	return a.answer
}
