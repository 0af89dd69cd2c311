package anthropic

import (
	"slices"
	"sync"

	"usher/runtime"
)

// maxThoughts bounds what is remembered of one model's answers: bytes.
const maxThoughts = 8 << 20

// thoughts are the answers that were thought over and ended in tool calls, as
// they came. The API wants them back unchanged with the results of the calls,
// and the conversation has no place for signed thinking. It is enough to
// remember them for the length of a turn; the oldest are forgotten first.
type thoughts struct {
	mu     sync.Mutex
	byCall map[string]*remembered // by the id of the first call
	order  []string               // oldest first
	size   int
}

type remembered struct {
	text   string
	calls  []runtime.ToolCall
	blocks []block
	size   int
}

// keep remembers an answer.
func (t *thoughts) keep(th *remembered) {
	if len(th.calls) == 0 || th.size > maxThoughts {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byCall == nil {
		t.byCall = make(map[string]*remembered)
	}
	id := th.calls[0].ID
	if _, known := t.byCall[id]; known {
		return // a server that repeats its ids: the conversations cannot be told apart
	}
	t.byCall[id] = th
	t.order = append(t.order, id)
	for t.size += th.size; t.size > maxThoughts; t.order = t.order[1:] {
		t.size -= t.byCall[t.order[0]].size
		delete(t.byCall, t.order[0])
	}
}

// recall returns the blocks of the answer that msg was made of; nil when it is
// not remembered, or when msg is no longer that answer.
func (t *thoughts) recall(msg *runtime.Message) []block {
	if len(msg.Calls) == 0 {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	th, ok := t.byCall[msg.Calls[0].ID]
	if !ok || th.text != msg.Text || !slices.Equal(th.calls, msg.Calls) {
		return nil
	}
	return slices.Clone(th.blocks)
}
