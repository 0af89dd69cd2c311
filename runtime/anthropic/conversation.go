package anthropic

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"usher/runtime"
	"usher/runtime/endpoint"
)

const maxToolName = 128 // as the API bounds it

// conversation writes messages as the API wants them: user and assistant take
// turns, the results of one answer's calls stand in one message and in order,
// no text is empty, and no two calls have one id.
type conversation struct {
	thoughts *thoughts
	messages []message
	ids      map[string]string // of a call, as the conversation has it: as the API gets it
	used     map[string]bool   // ids that the API gets
}

func (c *conversation) add(msg *runtime.Message) error {
	switch msg.Role {
	case runtime.RoleUser:
		c.say(runtime.RoleUser, texts(msg.Text)...)
	case runtime.RoleAssistant:
		c.say(runtime.RoleAssistant, c.answer(msg)...)
	case runtime.RoleTool:
		result := block{ToolUseID: c.id(msg.CallID), IsError: msg.Failed, Content: texts(msg.Text), Type: "tool_result"}
		if msg.Failed && len(result.Content) == 0 { // which the API refuses beside is_error
			result.Content = texts("failed")
		}
		c.say(runtime.RoleUser, result)
	default:
		return fmt.Errorf("message has the unknown role %q", msg.Role)
	}
	return nil
}

// say adds to the last message where that has the role, and else a new one.
func (c *conversation) say(role string, blocks ...block) {
	if len(blocks) == 0 {
		return
	}
	if n := len(c.messages); n > 0 && c.messages[n-1].Role == role {
		c.messages[n-1].Content = append(c.messages[n-1].Content, blocks...)
		return
	}
	c.messages = append(c.messages, message{Role: role, Content: blocks})
}

// texts is the text as blocks: none where it is empty, which the API refuses.
func texts(text string) []block {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []block{newText(text)}
}

// answer is an answer of the model: as it came where it was thought over, and
// else put together again.
func (c *conversation) answer(msg *runtime.Message) []block {
	same := true
	ids := make([]string, len(msg.Calls))
	for i, call := range msg.Calls {
		ids[i] = c.newID(call.ID)
		same = same && ids[i] == call.ID
	}
	if same {
		if blocks := c.thoughts.recall(msg); blocks != nil {
			return blocks
		}
	}
	blocks := texts(msg.Text)
	for i, call := range msg.Calls {
		blocks = append(blocks, newToolUse(ids[i], call.Name, call.Arguments))
	}
	return blocks
}

// newID takes an id for a call. Ids of other providers hold other characters,
// and some come again at every turn.
func (c *conversation) newID(id string) string {
	clean := cmp.Or(endpoint.Plain(id), "call")
	free := clean
	for n := 2; c.used[free]; n++ {
		free = clean + "-" + strconv.Itoa(n)
	}
	c.used[free] = true
	c.ids[id] = free
	return free
}

// id is the API's id of the call that came last under id.
func (c *conversation) id(id string) string {
	if known, ok := c.ids[id]; ok {
		return known
	}
	return cmp.Or(endpoint.Plain(id), "call")
}

// thinksOn reports whether the API would take the conversation with a thinking
// budget: an answer whose tool results it is now given must begin with its
// thinking. After a restart, or another model's answer, it does not.
func (c *conversation) thinksOn() bool {
	for i := len(c.messages) - 1; i >= 0; i-- {
		if c.messages[i].Role == runtime.RoleUser && !hasResult(c.messages[i].Content) {
			return i+1 == len(c.messages) || isThinking(c.messages[i+1].Content[0])
		}
	}
	return len(c.messages) == 0 || c.messages[0].Role == runtime.RoleAssistant && isThinking(c.messages[0].Content[0])
}

func hasResult(blocks []block) bool {
	return slices.ContainsFunc(blocks, func(b block) bool { return b.Type == "tool_result" })
}

func isThinking(b block) bool { return b.Type == "thinking" || b.Type == "redacted_thinking" }

func newToolUse(id, name, arguments string) block {
	return block{ID: id, Input: endpoint.Arguments(arguments), Name: endpoint.ToolName(name, maxToolName), Type: "tool_use"}
}

// maxThoughts bounds what is remembered of one model's answers: bytes.
const maxThoughts = 8 << 20

// thoughts are the answers that were thought over and ended in tool calls, as
// they came. The API wants them back unchanged with the results of the calls,
// and the conversation has no place for signed thinking. It is enough to
// remember them for the length of a turn; the oldest are forgotten first.
type thoughts struct {
	mu     sync.Mutex
	byCall map[string]*memo // by the id of the first call
	order  []string         // oldest first
	size   int
}

type memo struct {
	text   string
	calls  []runtime.ToolCall
	blocks []block
	size   int
}

// keep remembers an answer.
func (t *thoughts) keep(th *memo) {
	if len(th.calls) == 0 || th.size > maxThoughts {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byCall == nil {
		t.byCall = make(map[string]*memo)
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
