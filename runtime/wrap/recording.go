package wrap

import (
	"cmp"
	"slices"
	"strings"

	"usher/runtime"
)

// recording is an answer that is put together from its pieces. Waits are no part
// of it.
type recording struct {
	text, reasoning strings.Builder
	calls           []recordedCall
	last            runtime.Chunk // with usage, finish and model
	size            int           // bytes
}

type recordedCall struct {
	index     int
	id, name  string
	arguments []byte
}

func (a *recording) add(c *runtime.Chunk) {
	a.text.WriteString(c.Text)
	a.reasoning.WriteString(c.Reasoning)
	a.size += len(c.Text) + len(c.Reasoning) + len(c.Finish) + len(c.Model) + 1 // an empty piece takes work, too
	if c.Call != nil {
		i := slices.IndexFunc(a.calls, func(other recordedCall) bool { return other.index == c.Call.Index })
		if i < 0 {
			i = len(a.calls)
			a.calls = append(a.calls, recordedCall{index: c.Call.Index})
		}
		call := &a.calls[i]
		call.id, call.name = call.id+c.Call.ID, call.name+c.Call.Name
		call.arguments = append(call.arguments, c.Call.Arguments...)
		a.size += len(c.Call.ID) + len(c.Call.Name) + len(c.Call.Arguments)
	}
	if c.Usage != nil {
		used := *c.Usage
		a.last.Usage = &used
	}
	a.last.Finish, a.last.Model = cmp.Or(c.Finish, a.last.Finish), cmp.Or(c.Model, a.last.Model)
}

// chunks are the answer in as few pieces as it can have, which nobody else holds.
func (a *recording) chunks() (out []runtime.Chunk) {
	if a.reasoning.Len() > 0 {
		out = append(out, runtime.Chunk{Reasoning: a.reasoning.String()})
	}
	if a.text.Len() > 0 {
		out = append(out, runtime.Chunk{Text: a.text.String()})
	}
	for i := range a.calls {
		c := &a.calls[i]
		out = append(out, runtime.Chunk{Call: &runtime.CallDelta{Index: c.index, ID: c.id, Name: c.name, Arguments: string(c.arguments)}})
	}
	if last := a.last; last != (runtime.Chunk{}) {
		if last.Usage != nil {
			used := *last.Usage
			last.Usage = &used
		}
		out = append(out, last)
	}
	return out
}
