package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/tools"
	"usher/tools/agents"
	"usher/tools/fault"
)

// askPrefix begins the names of tools that are agents.
const askPrefix = "ask_"

var askSchema = json.RawMessage(`{"type":"object","required":["message"],"additionalProperties":false,"properties":{` +
	`"message":{"type":"string","description":"what to say to the agent"},` +
	`"sessionId":{"type":"string","description":"the session to go on in; left out, a new one"}}}`)

// listTools lists what the caller could call, on one page.
func (d *desk) listTools(ctx context.Context, c *caller, params *sdk.ListToolsParams) (sdk.Result, error) {
	if params != nil && params.Cursor != "" {
		return nil, failure(errCursor)
	}
	ops, err := c.Operations(ctx)
	if err != nil {
		return nil, failure(err)
	}
	list := &sdk.ListToolsResult{Tools: []*sdk.Tool{}, Cacheable: sdk.Cacheable{CacheScope: private}}
	names := make(map[string]bool, len(ops))
	for _, op := range ops {
		if t := describe(op); !names[t.Name] {
			names[t.Name] = true
			list.Tools = append(list.Tools, t)
		}
	}
	askable, err := c.Askable(ctx)
	if err != nil {
		return nil, failure(err)
	}
	for _, a := range askable {
		if name := askPrefix + a.AgentID; !names[name] {
			list.Tools = append(list.Tools, ask(name, a))
		}
	}
	return list, nil
}

var errCursor = fault.New(fault.InvalidInput, "the cursor is none of this list, which has one page")

// describe is an operation as a tool. It has no output schema: clients hold results against
// it that are refusals.
func describe(op *tools.Operation) *sdk.Tool {
	return &sdk.Tool{
		Name: op.ToolName(), Title: op.Name(), Description: op.Description(), InputSchema: op.InputSchema(),
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

// called is what a call of a tool asks of the gate.
type called struct {
	operation string
	input     json.RawMessage
	agent     bool // it is an agent that is asked
}

var errNoTool = fault.New(fault.NotFound, "there is no tool of that name: list them (tools/list)")

// named is what the name of a tool stands for. What the caller may not do has a name all
// the same: the gate says so.
func (d *desk) named(c *caller, name string, arguments json.RawMessage) (called, error) {
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = json.RawMessage("{}")
	}
	if ref, ok := c.Tool(name); ok {
		return called{operation: ref, input: arguments}, nil
	}
	id, ok := strings.CutPrefix(name, askPrefix)
	if !ok || agents.CheckID(id) != nil {
		return called{}, errNoTool
	}
	var said struct {
		Message   string `json:"message"`
		SessionID string `json:"sessionId"`
	}
	strict := json.NewDecoder(bytes.NewReader(arguments))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&said); err != nil {
		return called{}, &tools.InputError{Operation: name, Err: err}
	}
	input, err := json.Marshal(agents.Chat{AgentID: id, Message: said.Message, SessionID: said.SessionID})
	return called{operation: "agent:chat", input: input, agent: true}, err
}

// callTool calls a tool. What comes of it, and what is denied, are results.
func (d *desk) callTool(ctx context.Context, c *caller, params *sdk.CallToolParamsRaw) (sdk.Result, error) {
	call, err := d.named(c, params.Name, params.Arguments)
	if err == errNoTool {
		return nil, failure(err)
	}
	if err != nil {
		return refusal(c, err), nil
	}
	ctx, end := c.present(ctx)
	defer end()
	out, err := c.Invoke(ctx, call.operation, call.input)
	if err != nil {
		return refusal(c, err), nil
	}
	return outcome(c, out), nil
}

// mirrored marks a field of an input that a request repeats in its head (2026-07-28,
// "Custom Headers").
const mirrored = `"x-mcp-header"`

// declareMirrored has the SDK hold the head of a request against the fields that the tool
// has there. A declaration that is not right mirrors nothing.
func (d *desk) declareMirrored(c *caller, name string) {
	ref, ok := c.Tool(name)
	if !ok {
		return
	}
	op, err := c.Operation(c.request, ref)
	if err != nil || !bytes.Contains(op.InputSchema(), []byte(mirrored)) {
		return
	}
	defer func() { _ = recover() }() // the SDK panics on a declaration that is not right
	c.server.AddTool(describe(op), func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "tools are called otherwise"}
	})
}
