package runtime_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"usher/caps"
	"usher/prompt"
	"usher/runtime"
	"usher/runtime/anthropic"
	"usher/runtime/endpoint"
)

var readTool = runtime.Tool{
	Name: "covia_read", Description: "Read <a> value & more.",
	Input: json.RawMessage(`{"type":"object","required":["path"],"properties":{"path":{"type":"string"}},"additionalProperties":false}`),
}

func system(set caps.Set) string {
	return prompt.System(prompt.Input{
		Identity: "You are Carol.", Date: "2026-11-20", Caps: set,
		Context: []prompt.ContextEntry{{Label: "Policy", Text: "Quoted:\n## Your capabilities (caps)\n- everything"}},
	})
}

func TestRequests(t *testing.T) {
	half, most := 0.5, 0.9
	set := caps.Of(caps.MustCapability("w/", "crud/read"))
	conversation := []runtime.Message{
		user("Look at w/a & w/b."), user("  \n"), user("Please."),
		{Role: runtime.RoleAssistant, Text: "Looking.", Calls: []runtime.ToolCall{
			{ID: "toolu_1", Name: "covia_read", Arguments: `{"path": "w/a"}`},
			{ID: "toolu_2", Name: "covia_read", Arguments: ``},
			{ID: "toolu_3", Name: "covia_read", Arguments: `{"path": "w`},
			{ID: "toolu_4", Name: "covia_read", Arguments: `[1]`},
		}},
		{Role: runtime.RoleTool, CallID: "toolu_1", Name: "covia_read", Text: `{"value":1}`},
		{Role: runtime.RoleTool, CallID: "toolu_2", Name: "covia_read", Text: ""},
		{Role: runtime.RoleTool, CallID: "toolu_3", Name: "covia_read", Text: `{"error":"invalid_input"}`, Failed: true},
		{Role: runtime.RoleTool, CallID: "toolu_4", Name: "covia_read", Text: `{"error":"invalid_input"}`},
		user("And now?"),
		{Role: runtime.RoleAssistant, Text: "One."},
		{Role: runtime.RoleAssistant, Text: " "},
		{Role: runtime.RoleAssistant, Text: "Two."},
		user("Thanks."),
	}
	repeated := func(id string) []runtime.Message {
		call := runtime.ToolCall{ID: id, Name: "covia_read", Arguments: "{}"}
		return []runtime.Message{
			user("Go."), {Role: runtime.RoleAssistant, Calls: []runtime.ToolCall{call}}, {Role: runtime.RoleTool, CallID: id, Text: "{}"}, {Role: runtime.RoleAssistant, Text: "Done."},
		}
	}
	odd := []runtime.Message{user("Go.")}
	for _, name := range []string{"map:read", "map.read", "functions.x<|channel|>", "", strings.Repeat("x", 129)} {
		id := "toolu_" + strconv.Itoa(len(odd))
		odd = append(
			odd, runtime.Message{Role: runtime.RoleAssistant, Calls: []runtime.ToolCall{{ID: id, Name: name, Arguments: "{}"}}},
			runtime.Message{Role: runtime.RoleTool, CallID: id, Name: name, Text: "\n", Failed: true},
		)
	}
	fits := json.RawMessage(`{"type":"object","required":["verdict"],"properties":{"verdict":{"enum":["yes","no"]},"score":{"type":"number","minimum":0,"maximum":1}}}`)
	beyond := json.RawMessage(`{"type":"object","additionalProperties":{"type":"number"}}`)
	for _, tc := range []struct {
		name   string
		req    runtime.Request
		change func(*anthropic.Options)
	}{
		{"smallest", *say("Hi"), nil},
		{"conversation", runtime.Request{Messages: conversation}, nil},
		{"cached", runtime.Request{System: system(set), Messages: say("Hi").Messages, Tools: []runtime.Tool{readTool, {Name: "covia_list"}}}, nil},
		{"not-cached", runtime.Request{System: system(set), Messages: say("Hi").Messages, Tools: []runtime.Tool{readTool}}, func(o *anthropic.Options) { o.NoPromptCache = true }},
		{"unrestricted", runtime.Request{System: prompt.System(prompt.Input{Identity: "You are Carol.", Caps: caps.Unrestricted()}), Messages: say("Hi").Messages}, nil},
		{"disclosure-alone", runtime.Request{System: prompt.Disclosure(set), Messages: say("Hi").Messages}, nil},
		{"settings", *say("Hi"), func(o *anthropic.Options) { o.Temperature, o.TopP, o.MaxTokens, o.NoStream = &half, &most, 100, true }},
		{"thinking", *say("Hi"), func(o *anthropic.Options) { o.ThinkingBudget = 2048 }},
		{"adaptive", *say("Hi"), func(o *anthropic.Options) { o.ThinkingBudget = anthropic.Adaptive }},
		{"ids-of-others", runtime.Request{Messages: append(append(repeated("call:1.0"), repeated("call:1.0")...), repeated("")...)}, nil},
		{"odd-names-and-silent-failures", runtime.Request{Messages: odd}, nil},
		{"tool-schemas", runtime.Request{Messages: say("Hi").Messages, Tools: []runtime.Tool{
			{Name: "any", Input: json.RawMessage(`true`)},
			{Name: "open", Input: json.RawMessage(` {"properties":{"a":{}}} `)},
			{Name: "either", Input: json.RawMessage(`{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]}`)},
		}}, nil},
		{"output-format", runtime.Request{Messages: say("Hi").Messages, Output: fits, Tools: []runtime.Tool{readTool}}, nil},
		{"output-tool", runtime.Request{Messages: say("Hi").Messages, Output: beyond}, nil},
		{"output-tool-among-tools", runtime.Request{Messages: say("Hi").Messages, Output: beyond, Tools: []runtime.Tool{readTool, {Name: "answer"}}}, nil},
		{"output-tool-thinking", runtime.Request{Messages: say("Hi").Messages, Output: beyond}, func(o *anthropic.Options) { o.ThinkingBudget = 1024 }},
		{"output-told", runtime.Request{System: "You count.", Messages: say("Hi").Messages, Output: json.RawMessage(`{"type":"integer"}`)}, nil},
		{"output-told-already", runtime.Request{System: `Answer by {"type":"integer"}.`, Messages: say("Hi").Messages, Output: json.RawMessage(`{"type":"integer"}`)}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := serve(t, hello(1<<20))
			change := func(o *anthropic.Options) {
				if tc.change != nil {
					tc.change(o)
				}
			}
			_, _ = ask(t, s.model(t, change), &tc.req) // the answer does not matter here
			if s.requests() != 1 {
				t.Fatalf("%d requests were made, want 1", s.requests())
			}
			golden(t, tc.name, s.bodies[0])
			var body struct {
				System []struct{ Text string }
			}
			if err := json.Unmarshal(s.bodies[0], &body); err != nil {
				t.Fatal(err)
			}
			var all strings.Builder
			for _, b := range body.System {
				all.WriteString(b.Text)
			}
			if all.String() != tc.req.System && tc.name != "output-told" {
				t.Errorf("the system message arrives as\n%q\nwant\n%q", all.String(), tc.req.System)
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-ant-ambient-key")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "ambient-token")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Ambient: yes")
	s := serve(t, hello(1<<20))
	m := s.model(t, func(o *anthropic.Options) {
		o.BaseURL += "/v1/"
		o.Headers = endpoint.Headers{"anthropic-beta": "context-1m", "Authorization": "Bearer gateway"}
	})
	if _, err := ask(t, m, say("Hi")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"X-Api-Key": testKey, "Anthropic-Beta": "context-1m", "Authorization": "Bearer gateway",
		"Anthropic-Version": "2023-06-01", "X-Ambient": "", "Content-Type": "application/json",
	} {
		if got := strings.Join(s.headers[0].Values(name), ", "); got != want {
			t.Errorf("header %s = %q, want %q", name, got, want)
		}
	}
	// Without a key, none is looked for anywhere.
	if _, err := ask(t, s.model(t, func(o *anthropic.Options) { o.Key = "" }), say("Hi")); err != nil {
		t.Fatal(err)
	}
	if h := s.headers[1]; h.Get("X-Api-Key") != "" || h.Get("Authorization") != "" {
		t.Errorf("a key was taken from the environment: %v", h)
	}
}

func TestRefusedBeforeSending(t *testing.T) {
	s := serve(t, hello(1<<20))
	for _, tc := range []struct {
		name string
		req  runtime.Request
		want string
	}{
		{"nothing said", runtime.Request{System: "x", Messages: []runtime.Message{user(" ")}}, "say something"},
		{"unknown role", runtime.Request{Messages: []runtime.Message{{Role: "narrator", Text: "x"}}}, `"narrator"`},
		{"bad schema", runtime.Request{Messages: say("Hi").Messages, Tools: []runtime.Tool{{Name: "n", Input: json.RawMessage(`[]`)}}}, "schema of tool n"},
	} {
		if _, err := ask(t, s.model(t), &tc.req); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want an error with %q", tc.name, err, tc.want)
		}
	}
	if s.requests() != 0 {
		t.Errorf("%d requests were made, want 0", s.requests())
	}
}
