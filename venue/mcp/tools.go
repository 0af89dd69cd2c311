package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/tools"
	"usher/tools/agents"
	"usher/tools/content"
	"usher/tools/fault"
	"usher/tools/grid"
	"usher/venue/face"
	"usher/venue/runs"
)

// opChat is what asks an agent.
const opChat = "v/ops/agent/chat"

// askPrefix begins the names of tools that are agents.
const askPrefix = "ask_"

var askSchema = json.RawMessage(`{"type":"object","required":["message"],"additionalProperties":false,"properties":{` +
	`"message":{"type":"string","description":"what to say to the agent"},` +
	`"sessionId":{"type":"string","description":"the session to go on in; left out, a new one"}}}`)

// listTools lists what the caller could call, on one page.
func (d *desk) listTools(ctx context.Context, c *caller, params *sdk.ListToolsParams) (sdk.Result, error) {
	if params != nil && params.Cursor != "" {
		return nil, errCursor
	}
	ops, err := c.Operations(ctx)
	if err != nil {
		return nil, err
	}
	list := &sdk.ListToolsResult{Tools: []*sdk.Tool{}, Cacheable: sdk.Cacheable{CacheScope: private}}
	names := make(map[string]bool, len(ops))
	for _, op := range ops {
		name, offered := d.nameOf(op)
		if t := describe(op, name); offered && !names[t.Name] {
			names[t.Name] = true
			list.Tools = append(list.Tools, t)
		}
	}
	if d.only != "" {
		return list, nil
	}
	askable, err := c.Askable(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range askable {
		if name := askPrefix + a.AgentID; !names[name] {
			list.Tools = append(list.Tools, ask(name, a))
		}
	}
	return list, nil
}

// isPersons reports whether an operation is not for a program that speaks for a person.
func isPersons(op *tools.Operation) bool {
	return op.IsSealed() || slices.Contains([]string{"approval:approve", "approval:deny", "token:revoke", "mcp:accept"}, op.Name())
}

// nameOf is what an operation is called here, if it is offered at all.
func (d *desk) nameOf(op *tools.Operation) (name string, offered bool) {
	if d.only != "" {
		return strings.CutPrefix(op.Path(), d.only)
	}
	return op.ToolName(), !isPersons(op)
}

var errCursor = fault.New(fault.InvalidInput, "the cursor is none of this list, which has one page")

// describe returns an operation as a tool. It has no output schema: clients hold results against
// it that are refusals.
func describe(op *tools.Operation, name string) *sdk.Tool {
	return &sdk.Tool{
		Name: name, Title: op.Name(), Description: op.Description(), InputSchema: op.InputSchema(),
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: op.ReadOnly(), IdempotentHint: op.Idempotent()},
	}
}

// ask is an agent as a tool.
func ask(name string, a agents.Summary) *sdk.Tool {
	about := "Say something to the agent " + a.AgentID + " and wait for its answer."
	if a.Description != "" {
		about += " " + a.Description
	}
	return &sdk.Tool{Name: name, Title: a.AgentID, Description: about, InputSchema: askSchema}
}

// target is what a call of a tool asks of the gate.
type target struct {
	operation string
	input     json.RawMessage
}

var errNoTool = fault.New(fault.NotFound, "there is no tool of that name: list them (tools/list)")

// resolve returns what the name of a tool stands for. What the caller may not do has a name all
// the same: the gate says so.
func (d *desk) resolve(c *caller, name string, arguments json.RawMessage) (target, error) {
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = json.RawMessage("{}")
	}
	if d.only != "" {
		return target{operation: d.only + name, input: arguments}, nil
	}
	if ref, ok := c.Tool(name); ok {
		return target{operation: ref, input: arguments}, nil
	}
	id, ok := strings.CutPrefix(name, askPrefix)
	if !ok || agents.CheckID(id) != nil {
		return target{}, errNoTool
	}
	var said struct {
		Message   string `json:"message"`
		SessionID string `json:"sessionId"`
	}
	if err := face.Strictly(arguments, &said); err != nil {
		return target{}, &tools.InputError{Operation: name, Err: err}
	}
	input, err := json.Marshal(agents.Chat{AgentID: id, Message: said.Message, SessionID: said.SessionID})
	return target{operation: opChat, input: input}, err
}

// callTool calls a tool. What comes of it, and what is denied, are results.
func (d *desk) callTool(ctx context.Context, c *caller, params *sdk.CallToolParamsRaw) (sdk.Result, error) {
	m := &message{"tools/call", params.Name, params.Arguments, params.GetProgressToken(), params.InputResponses, params.RequestState}
	st, err := d.seals.open(c, m)
	if err != nil {
		return nil, err
	}
	call, err := d.resolve(c, params.Name, params.Arguments)
	if errors.Is(err, errNoTool) {
		return nil, err
	}
	if err != nil {
		return refusal(c, err), nil
	}
	ctx, end := c.present(ctx)
	defer end()
	work, takesLong := d.work[call.operation]
	if work.Only && !c.tasks() {
		return nil, errLackTasks
	}
	if st.Job != "" {
		return d.goOn(ctx, c, m, st.Job)
	}
	if takesLong && !work.Begins && (c.tasks() || c.fills() || m.token != nil) {
		if res, ok, err := d.asJob(ctx, c, m, &call); ok {
			return res, err
		}
	}
	out, asks, err := d.invoke(ctx, c, m, st, call.operation, call.input)
	switch {
	case protocol(err):
		return nil, err
	case err != nil:
		return refusal(c, err), nil
	case asks != nil:
		return asks, nil
	case work.Begins && c.tasks():
		if id := jobOf(out); id != "" {
			return d.jobResult(ctx, c, m, id)
		}
	}
	return d.outcome(ctx, c, call.operation, out), nil
}

// goOn follows a job that a call began which is sent again, with what a person answered.
func (d *desk) goOn(ctx context.Context, c *caller, m *message, job string) (sdk.Result, error) {
	said, err := raw(m.answers)
	if err != nil {
		return nil, err
	}
	waiting, err := d.requests(ctx, c, job)
	if err == nil {
		err = d.settle(ctx, c, waiting, said)
	}
	if err != nil {
		return refusal(c, err), nil
	}
	return d.follow(ctx, c, m, job, time.Now())
}

// jobOf is the id of the job that an output says was started.
func jobOf(out json.RawMessage) string {
	var st grid.Status
	if json.Unmarshal(out, &st) != nil || st.Status != runs.Started {
		return ""
	}
	return st.ID
}

// protocol reports whether an error is one of the protocol, and no result.
func protocol(err error) bool {
	_, ok := errors.AsType[*jsonrpc.Error](err)
	return ok
}

// outcome is the result of a call that came to an output.
func (d *desk) outcome(ctx context.Context, c *caller, operation string, output json.RawMessage) *answer {
	if op, err := c.Operation(ctx, operation); err == nil && content.Is(op.OutputSchema()) {
		var as struct {
			Content    json.RawMessage `json:"content"`
			Structured json.RawMessage `json:"structured"`
		}
		if json.Unmarshal(output, &as) == nil && len(as.Content) > 0 && as.Content[0] == '[' {
			members := map[string]any{"content": as.Content}
			if len(as.Structured) > 0 && (c.modern || as.Structured[0] == '{') {
				members["structuredContent"] = as.Structured
			}
			return answerOf(c, members)
		}
	}
	members := map[string]any{"content": []any{text(textOf(operation, output))}}
	if c.modern || len(output) > 0 && output[0] == '{' { // before 2026-07-28 nothing else may be told as structure
		members["structuredContent"] = output
	}
	return answerOf(c, members)
}

// textOf is an output as text: of an agent, what it said.
func textOf(operation string, output json.RawMessage) string {
	if operation == opChat {
		var a agents.ChatResult
		var plain string
		if json.Unmarshal(output, &a) == nil && json.Unmarshal(a.Response, &plain) == nil {
			return plain
		}
	}
	return string(output)
}

// mirrored marks a field of an input that a request repeats in its head (2026-07-28,
// "Custom Headers").
const mirrored = `"x-mcp-header"`

// declareMirror has the SDK hold the head of a request against the fields that the tool
// has there. A declaration that is not right mirrors nothing.
func (d *desk) declareMirror(c *caller, name string) {
	ref, ok := c.Tool(name)
	if !ok {
		return
	}
	op, err := c.Operation(c.request, ref)
	if err != nil || !bytes.Contains(op.InputSchema(), []byte(mirrored)) {
		return
	}
	defer func() { _ = recover() }() // the SDK panics on a declaration that is not right
	c.server.AddTool(describe(op, name), func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "tools are called otherwise"}
	})
}
