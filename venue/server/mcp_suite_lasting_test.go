package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"usher/tools"
	"usher/tools/content"
	"usher/tools/dialog"
	"usher/tools/pause"
	"usher/venue/mcp"
)

// work says which operations take long.
func work() map[string]mcp.Work {
	return map[string]mcp.Work{
		"slow_compute": {}, "failing_job": {Only: true}, "protocol_error_job": {}, "confirm_delete": {}, "multi_input": {},
		"test_tool_with_task": {Begins: true, Only: true},
	}
}

func lasting() []*tools.Operation {
	return []*tools.Operation{
		tool("greet", anything, func(_ context.Context, _ tools.Call, in json.RawMessage) (any, error) {
			return content.Of(content.Text("Hello, " + field(in, "name") + "!")), nil
		}),
		tool("slow_compute", anything, compute),
		tool("failing_job", anything, func(context.Context, tools.Call, json.RawMessage) (any, error) {
			return nil, errors.New("the job fails")
		}),
		tool("protocol_error_job", anything, func(context.Context, tools.Call, json.RawMessage) (any, error) {
			panic("the job breaks")
		}),
		keyed("confirm_delete", func(ctx context.Context, call tools.Call, in json.RawMessage) (any, error) {
			return deletes(ctx, call, "delete w/files/"+field(in, "filename"))
		}),
		keyed("multi_input", func(ctx context.Context, call tools.Call, _ json.RawMessage) (any, error) {
			return deletes(ctx, call, "delete w/files/one\ndelete w/files/two")
		}),
		tool("test_tool_with_task", anything, func(ctx context.Context, call tools.Call, _ json.RawMessage) (any, error) {
			f, ok := dialog.Of(ctx, call).Form("user_name")
			if !ok {
				return nil, form1("user_name", "What is your name?", "name")
			}
			input, err := json.Marshal(map[string]any{"operation": "v/ops/fixture/greet", "input": f})
			if err != nil {
				return nil, err
			}
			res, err := call.Invoke(ctx, "grid:invoke", input)
			return res.Output, err
		}),
		op("fixture:greet", func(_ context.Context, _ tools.Call, in struct {
			Name string `json:"name"`
		},
		) (content.Output, error) {
			return content.Of(content.Text("Hello, " + in.Name + "!")), nil
		}),
	}
}

// compute takes as many seconds as it is told.
func compute(ctx context.Context, _ tools.Call, in json.RawMessage) (any, error) {
	var say struct {
		Seconds float64 `json:"seconds"`
		Label   string  `json:"label"`
	}
	if err := json.Unmarshal(in, &say); err != nil {
		return nil, err
	}
	if err := pause.For(ctx, time.Duration(say.Seconds*float64(time.Second))); err != nil {
		return nil, err
	}
	return content.Of(content.Text(fmt.Sprintf("%s took %g seconds", say.Label, say.Seconds))), nil
}

// deletes has the agent delete what a person has to allow.
func deletes(ctx context.Context, call tools.Call, order string) (any, error) {
	input, err := json.Marshal(map[string]any{"agentId": suiteAgent, "input": order})
	if err != nil {
		return nil, err
	}
	res, err := call.InvokeAt(ctx, tools.At{Event: 1, N: 1}, "agent:request", input)
	if err != nil {
		return nil, err
	}
	return content.Of(content.Text(string(res.Output))), nil
}

// changes are tools by which lists change.
func changes() []*tools.Operation {
	create := func(ctx context.Context, call tools.Call, _ json.RawMessage) (any, error) {
		input, err := json.Marshal(map[string]any{"agentId": fmt.Sprintf("made-%d", time.Now().UnixNano()), "config": map[string]any{"caps": []string{}}})
		if err != nil {
			return nil, err
		}
		_, err = call.Invoke(ctx, "agent:create", input)
		return content.Of(content.Text("an agent was made")), err
	}
	return []*tools.Operation{tool("test_trigger_tool_change", anything, create), tool("test_trigger_prompt_change", anything, create)}
}
