package anthropic

import (
	"cmp"
	"fmt"
	"strings"

	"usher/runtime"
	"usher/runtime/endpoint"
)

// answer turns the events of one answer into chunks.
type answer struct {
	*endpoint.Exchange
	thoughts *thoughts
	tools    []runtime.Tool // that were offered
	tool     string         // the tool whose arguments are the answer; may be empty

	complete bool // the last event came
	blocks   []*openBlock
	open     map[int64]*openBlock
	calls    int
	text     *openBlock      // the block whose arguments are the answer
	held     strings.Builder // text that is none if the answer comes through the tool
	usage    runtime.Usage
	finished string // the stop reason
	refusal  refusal
}

// openBlock is a content block while it comes.
type openBlock struct {
	block
	call   int             // number among the calls
	said   strings.Builder // text, thinking or arguments
	signed strings.Builder // the signature of thinking
}

// maxBlocks bounds the content blocks of one answer: its calls, and what is said and thought
// between them.
const maxBlocks = 4096

var _ endpoint.Answer = (*answer)(nil)

// IsWhole is false: the last event says that it is.
func (a *answer) IsWhole() bool { return false }

// Event takes the next event of a stream.
func (a *answer) Event(data []byte, mistake bool) (done bool, err error) {
	if data[0] != '{' {
		return false, nil // of a server that ends its streams as other formats do
	}
	var ev event
	if err := decode(data, &ev); err != nil {
		return false, err
	}
	if ev.Type == "error" || mistake {
		return false, a.ReadError(data)
	}
	err = a.event(&ev)
	return a.complete, err
}

// Whole takes an answer that is one JSON value.
func (a *answer) Whole(body []byte) error {
	m := new(whole)
	if err := decode(body, m); err != nil {
		return err
	}
	if m.Type == "error" {
		return a.ReadError(body)
	}
	return a.message(m)
}

// event takes one event of a stream. Kinds that are not known are passed over,
// as the API's versioning policy asks for.
func (a *answer) event(ev *event) error {
	switch ev.Type {
	case "message_start":
		a.Names(ev.Message.Model)
		return a.count(&ev.Message.Usage)
	case "content_block_start":
		return a.start(ev.Index, &ev.ContentBlock)
	case "content_block_delta":
		return a.delta(ev)
	case "content_block_stop":
		return a.stop(ev.Index)
	case "message_delta":
		if ev.Delta.StopReason != "" {
			a.finished, a.refusal = ev.Delta.StopReason, ev.Delta.StopDetails
		}
		return a.count(&ev.Usage)
	case "message_stop":
		a.complete = true
	case "message": // an answer in one piece, although a stream was asked for
		return a.message(&ev.whole)
	}
	return nil
}

// message takes an answer in one piece.
func (a *answer) message(m *whole) error {
	if m.Type != "message" {
		return a.Format("its answer is no message: check base_url, or try the other of stream: true and false")
	}
	a.Names(m.Model)
	if err := a.count(&m.Usage); err != nil {
		return err
	}
	for i := range m.Content {
		if err := a.start(int64(i), &m.Content[i]); err != nil {
			return err
		}
		if err := a.stop(int64(i)); err != nil {
			return err
		}
	}
	a.finished, a.refusal = m.StopReason, m.StopDetails
	a.complete = true
	return nil
}

// count takes a count of tokens. Counts are totals, and a later event may leave
// out what an earlier one told. The API's input leaves the cache's part out.
func (a *answer) count(told *usage) error {
	cached, kept := endpoint.Tokens(int(told.CacheRead)), endpoint.Tokens(int(told.CacheWrite))
	u := runtime.Usage{
		Input:     max(a.usage.Input, endpoint.Tokens(endpoint.Tokens(int(told.Input))+cached+kept)),
		Output:    max(a.usage.Output, endpoint.Tokens(int(told.Output))),
		CacheRead: max(a.usage.CacheRead, cached), CacheWrite: max(a.usage.CacheWrite, kept),
	}
	if u == a.usage {
		return nil
	}
	a.usage = u
	return a.Send(runtime.Chunk{Usage: &u})
}

func (a *answer) start(index int64, begun *block) error {
	b := &openBlock{block: *begun}
	if a.open[index] != nil {
		return a.Format("block %d starts twice", index)
	}
	if len(a.blocks) == maxBlocks {
		return a.Format("its answer has more than %d blocks", maxBlocks)
	}
	b.signed.WriteString(b.Signature)
	if a.open == nil {
		a.open = make(map[int64]*openBlock)
	}
	a.open[index] = b
	a.blocks = append(a.blocks, b)
	switch {
	case b.Type != "tool_use" && b.Thinking != nil:
		return a.piece(b, *b.Thinking)
	case b.Type != "tool_use":
		return a.piece(b, b.Text)
	case b.ID == "" || b.Name == "":
		return a.Format("a tool call has no id or no name")
	}
	b.ID = a.CleanID(b.ID)
	if b.Name == a.tool {
		a.text = cmp.Or(a.text, b)
		return nil
	}
	b.call, b.Name = a.calls, a.ToolName(b.Name, a.tools)
	a.calls++
	if err := a.MayCall(a.calls); err != nil {
		return err
	}
	return a.Send(runtime.Chunk{Call: &runtime.CallDelta{Index: b.call, ID: b.ID, Name: b.Name}})
}

func (a *answer) delta(ev *event) error {
	b, d := a.open[ev.Index], &ev.Delta
	if b == nil {
		return a.Format("a piece came for block %d, which is not open", ev.Index)
	}
	switch {
	case d.Type == "text_delta" && b.Type == "text":
		return a.piece(b, d.Text)
	case d.Type == "thinking_delta" && b.Type == "thinking":
		return a.piece(b, d.Thinking)
	case d.Type == "signature_delta" && b.Type == "thinking":
		b.signed.WriteString(d.Signature)
	case d.Type == "input_json_delta" && b.Type == "tool_use":
		return a.piece(b, d.PartialJSON)
	}
	return nil
}

// piece adds to a block and shows it.
func (a *answer) piece(b *openBlock, text string) error {
	if text == "" {
		return nil
	}
	b.said.WriteString(text)
	switch {
	case b.Type == "thinking":
		return a.Send(runtime.Chunk{Reasoning: text})
	case b.Type == "text" && a.tool != "":
		a.held.WriteString(text)
	case b.Type == "text", b == a.text:
		return a.Send(runtime.Chunk{Text: text})
	case b.Type == "tool_use" && b.Name != a.tool:
		return a.Send(runtime.Chunk{Call: &runtime.CallDelta{Index: b.call, Arguments: text}})
	}
	return nil
}

// stop ends a block. A call without arguments has no pieces, and still has an
// object for its arguments.
func (a *answer) stop(index int64) error {
	b := a.open[index]
	if b == nil {
		return a.Format("block %d ends, which is not open", index)
	}
	delete(a.open, index)
	if b.Type == "tool_use" && b.said.Len() == 0 {
		if len(b.Input) == 0 || string(b.Input) == "null" {
			return a.piece(b, "{}")
		}
		return a.piece(b, string(b.Input))
	}
	return nil
}

// End ends an answer that came completely, and says so if the model did not
// complete it.
func (a *answer) End() error {
	if len(a.open) > 0 {
		return a.Format("the answer ends with a block open")
	}
	switch a.finished {
	case "refusal":
		return refusalError(&a.refusal)
	case "max_tokens":
		return endpoint.ErrMaxTokens
	case "model_context_window_exceeded":
		return endpoint.ErrFull
	case "":
		return a.Format("the answer has no stop reason")
	}
	if a.text == nil && a.held.Len() > 0 {
		if err := a.Send(runtime.Chunk{Text: a.held.String()}); err != nil {
			return err
		}
	}
	a.remember()
	return a.Send(runtime.Chunk{Finish: a.Word(a.finished)})
}

func refusalError(d *refusal) error {
	why := ""
	if d.Category != "" {
		why = " (" + d.Category + ")"
	}
	if d.Explanation != "" {
		why += ": " + strings.Join(strings.Fields(d.Explanation), " ")
	}
	return fmt.Errorf("%w%s; say it in other words, or start a new session", endpoint.ErrRefused, why)
}

// remember keeps an answer that was thought over and waits for tool results.
func (a *answer) remember() {
	if a.calls == 0 || a.text != nil {
		return
	}
	th := new(memo)
	var text strings.Builder
	thinks := false
	for _, b := range a.blocks {
		said, signature := b.said.String(), b.signed.String()
		th.size += len(said) + len(signature) + len(b.Data) + len(b.ID) + len(b.Name)
		switch b.Type {
		case "thinking":
			thinks = true
			th.blocks = append(th.blocks, block{Signature: signature, Thinking: &said, Type: b.Type})
		case "redacted_thinking":
			thinks = true
			th.blocks = append(th.blocks, block{Data: b.Data, Type: b.Type})
		case "text":
			text.WriteString(said)
			th.blocks = append(th.blocks, texts(said)...)
		case "tool_use":
			th.calls = append(th.calls, runtime.ToolCall{ID: b.ID, Name: b.Name, Arguments: said})
			th.blocks = append(th.blocks, newToolUse(b.ID, b.Name, said))
		}
	}
	if th.text = text.String(); thinks {
		a.thoughts.keep(th)
	}
}
