package completions

import (
	"fmt"
	"maps"

	"usher/runtime"
	"usher/tools/fault"
)

// item is a piece of the output of a response: what the agent says, or a call of a tool
// that the venue made for it.
type item struct {
	Type   string `json:"type"`
	ID     string `json:"id"`
	Status string `json:"status"`

	Role    string `json:"role,omitempty"`
	Content []part `json:"content,omitzero"` // of a call none

	Server    string `json:"server_label,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	Output    string `json:"output,omitempty"`
	Error     *crash `json:"error,omitempty"`
}

// crash is why a call came to nothing.
type crash struct {
	Type    string `json:"type"`
	Content []part `json:"content"`
}

type part struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Annotations []any  `json:"annotations"`
	Logprobs    []any  `json:"logprobs"`
}

func textPart(text string) part {
	return part{Type: "output_text", Text: text, Annotations: []any{}, Logprobs: []any{}}
}

// Types of items, and statuses of them and of responses.
const (
	aMessage = "message"
	aCall    = "mcp_call"

	inProgress = "in_progress"
	completed  = "completed"
	incomplete = "incomplete"
	failed     = "failed"
	cancelled  = "cancelled"
)

// event is an event of a streamed response.
type event map[string]any

// items makes the output of a response from what happens in its turn.
type items struct {
	run   string
	list  []*item
	calls map[string]int // by the ids of calls
	said  recital        // of the message that is open
	open  int            // index of that message; -1 is none
	usage runtime.Usage
	send  func(event) error // of what is streamed
	err   error             // of send, the first
}

func newItems(run string, send func(event) error) *items {
	return &items{run: run, calls: make(map[string]int), open: -1, send: send}
}

func (o *items) tell(kind string, index int, more event) {
	if o.err != nil {
		return
	}
	ev := event{"type": kind, "output_index": index}
	maps.Copy(ev, more)
	if _, whole := ev["item"]; !whole {
		ev["item_id"] = o.list[index].ID
	}
	o.err = o.send(ev)
}

func (o *items) add(it *item) (index int) {
	index = len(o.list)
	it.ID, it.Status = fmt.Sprintf("%s_%s_%d", map[string]string{aMessage: "msg", aCall: "mcp"}[it.Type], o.run, index), inProgress
	o.list = append(o.list, it)
	o.tell("response.output_item.added", index, event{"item": *it})
	return index
}

func (o *items) endItem(index int, status string) {
	o.list[index].Status = status
	o.tell("response.output_item.done", index, event{"item": *o.list[index]})
}

// take takes an event of the turn.
func (o *items) take(ev runtime.Event) error {
	switch ev := ev.(type) {
	case runtime.TextDelta:
		o.grow(o.said.piece(ev.Text))
	case runtime.ModelAnswer:
		o.usage = o.usage.Plus(ev.Usage)
		if o.open < 0 {
			o.said = recital{}
		}
		o.grow(o.said.rest(ev.Text))
		o.close(completed)
	case runtime.ToolStart:
		o.begin(ev)
	case runtime.ToolEnd:
		o.finish(ev)
	case runtime.OutputRejection: // in the log: whoever talks does not hear what is rejected
		if n := len(o.list); n > 0 && o.list[n-1].Type == aMessage {
			o.list = o.list[:n-1]
		}
	case runtime.TurnEnd:
		if ev.Output != nil { // what came before it did not fit
			o.whole(text(ev.Output))
		}
	}
	return o.err
}

// grow has the message grow that is open, or opens one.
func (o *items) grow(piece string) {
	if piece == "" {
		return
	}
	if o.open < 0 {
		o.open = o.add(&item{Type: aMessage, Role: assistant, Content: []part{}})
		o.tell("response.content_part.added", o.open, event{"content_index": 0, "part": textPart("")})
	}
	o.tell("response.output_text.delta", o.open, event{"content_index": 0, "delta": piece, "logprobs": []any{}})
}

// close ends the message that is open.
func (o *items) close(status string) {
	if o.open < 0 {
		return
	}
	said, index := o.said.text.String(), o.open
	o.list[index].Content = []part{textPart(said)}
	o.tell("response.output_text.done", index, event{"content_index": 0, "text": said, "logprobs": []any{}})
	o.tell("response.content_part.done", index, event{"content_index": 0, "part": textPart(said)})
	o.endItem(index, status)
	o.open, o.said = -1, recital{}
}

// message is a message of its own.
func (o *items) message(said, status string) {
	o.close(incomplete)
	o.grow(o.said.piece(said))
	o.close(status)
}

// whole is the answer, where it has not come in pieces.
func (o *items) whole(said string) {
	if n := len(o.list); n > 0 && o.list[n-1].Type == aMessage && o.list[n-1].Content[0].Text == said {
		return
	}
	o.message(said, completed)
}

func (o *items) begin(ev runtime.ToolStart) {
	index := o.add(&item{Type: aCall, Server: "usher", Name: ev.Call.Name, Arguments: ev.Call.Arguments})
	o.calls[ev.Call.ID] = index
	o.tell("response.mcp_call.in_progress", index, nil)
	o.tell("response.mcp_call_arguments.done", index, event{"arguments": ev.Call.Arguments})
}

func (o *items) finish(ev runtime.ToolEnd) {
	index, known := o.calls[ev.CallID]
	if !known { // it never began
		index = o.add(&item{Type: aCall, Server: "usher", Name: ev.Name})
	}
	delete(o.calls, ev.CallID)
	it, kind, status := o.list[index], "response.mcp_call.completed", completed
	if it.Output = ev.Result; ev.Outcome != runtime.ToolOK {
		it.Output, it.Error = "", &crash{"mcp_tool_execution_error", []part{textPart(ev.Result)}}
		kind, status = "response.mcp_call.failed", failed
	}
	o.tell(kind, index, nil)
	o.endItem(index, status)
}

// end takes what the turn came to, and returns the status of the response. A turn that
// failed has one, too, with its error.
func (o *items) end(response string, failure error) (string, *wrong) {
	defer func() {
		for _, index := range o.calls {
			o.endItem(index, incomplete)
		}
	}()
	switch code := fault.Of(failure); {
	case code == fault.Waiting:
		o.message(waitText(failure, o.run), completed)
		return incomplete, nil
	case failure != nil:
		o.close(incomplete)
		out, _ := wrongOf(failure)
		return failed, &out
	}
	o.whole(response)
	return completed, nil
}
