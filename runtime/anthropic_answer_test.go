package runtime_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
	"usher/runtime/anthropic"
	"usher/runtime/endpoint"
)

const (
	tool1Start = `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"covia_read","input":{}}}`
	tool1a     = `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}`
	tool1b     = `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"path\":\"w/"}}`
	tool1c     = `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"ä\"}"}}`
	tool1Stop  = `{"type":"content_block_stop","index":1}`
	tool2Start = `{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_2","name":"covia_list","input":{}}}`
	tool2Stop  = `{"type":"content_block_stop","index":2}`
)

var twoCalls = []string{
	begin, ping, text0, delta0("Let me look."), stop0,
	tool1Start, tool1a, ping, tool1b, tool1c, tool1Stop, tool2Start, tool2Stop, endTools, end,
}

// thinkingCalls is an answer that was thought over, with a redacted part.
var thinkingCalls = []string{
	begin,
	`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"First "}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"look."}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`,
	stop0,
	`{"type":"content_block_start","index":3,"content_block":{"type":"redacted_thinking","data":"aGlkZGVu"}}`,
	`{"type":"content_block_stop","index":3}`,
	tool1Start, tool1b, tool1c, tool1Stop, tool2Start, tool2Stop, endTools, end,
}

func TestAnswers(t *testing.T) {
	calls := []runtime.ToolCall{
		{ID: "toolu_1", Name: "covia_read", Arguments: `{"path":"w/ä"}`},
		{ID: "toolu_2", Name: "covia_list", Arguments: `{}`},
	}
	for _, tc := range []struct {
		name  string
		lines []string
		want  got
	}{
		{"text with pings", []string{begin, ping, text0, delta0("Grüß "), ping, delta0("Gott 👋"), stop0, endTurn, end}, got{Text: "Grüß Gott 👋", Usage: used(12), Finish: "end_turn"}},
		{"two calls", twoCalls, got{Text: "Let me look.", Calls: calls, Usage: used(40), Finish: "tool_use"}},
		{"two calls interleaved", []string{
			begin, text0, delta0("Let me look."), stop0, tool1Start, tool2Start, tool1a,
			`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{"}}`, tool1b,
			`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"}"}}`, tool1c,
			tool2Stop, tool1Stop, endTools, end,
		}, got{Text: "Let me look.", Calls: calls, Usage: used(40), Finish: "tool_use"}},
		{"thinking", thinkingCalls, got{Reasoning: "First look.", Calls: calls, Usage: used(40), Finish: "tool_use"}},
		{"nothing", []string{begin, endTurn, end}, got{Usage: used(12), Finish: "end_turn"}},
		{"input told late", []string{
			`{"type":"message_start","message":{"type":"message","usage":{"input_tokens":0,"output_tokens":0}}}`, text0, delta0("a"), stop0,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":5,"cache_read_input_tokens":6,"output_tokens":7}}`, end,
		}, got{Text: "a", Usage: runtime.Usage{Input: 11, Output: 7, CacheRead: 6}, Finish: "end_turn"}},
		{"kinds of a later version", []string{
			begin, `{"type":"weather","temperature":3,"delta":"north","usage":[1],"index":"here"}`, text0, delta0("a"),
			`{"type":"content_block_delta","index":0,"delta":{"type":"scent_delta","scent":"rose"}}`, stop0,
			`{"type":"content_block_start","index":1,"content_block":{"type":"hologram","text":{"x":1},"name":7}}`, tool1Stop, endTurn, end,
		}, got{Text: "a", Usage: used(12), Finish: "end_turn"}},
		{"no arguments at all", []string{
			begin, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"n"}}`, stop0, endTools, end,
		}, got{Calls: []runtime.ToolCall{{ID: "t", Name: "n", Arguments: `{}`}}, Usage: used(40), Finish: "tool_use"}},
		{"arguments at once", []string{
			begin, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"n","input":{"a":1}}}`, stop0, endTools, end,
		}, got{Calls: []runtime.ToolCall{{ID: "t", Name: "n", Arguments: `{"a":1}`}}, Usage: used(40), Finish: "tool_use"}},
	} {
		for _, size := range []int{1, 7, 64, 1 << 20} {
			s := serve(t, events(size, tc.lines...))
			change := func(*anthropic.Options) {}
			if size == 1 {
				change = cutting
			}
			g, err := ask(t, s.model(t, change), say("Hi"))
			if err != nil {
				t.Fatalf("%s in pieces of %d: %v", tc.name, size, err)
			}
			if diff := cmp.Diff(tc.want, g); diff != "" {
				t.Errorf("%s in pieces of %d (-want +got):\n%s", tc.name, size, diff)
			}
		}
	}
}

// Other ends of line, comments and fields are in the standard of server-sent
// events, and servers that copied the API leave out what the standard lets them.
func TestStreamSpellings(t *testing.T) {
	lines := []string{begin, ping, text0, delta0("Hi"), stop0, endTurn, end}
	stream := func(event func(kind, line string) string) string {
		var b strings.Builder
		for _, line := range lines {
			kind, _, _ := strings.Cut(line[len(`{"type":"`):], `"`)
			b.WriteString(event(kind, line))
		}
		return b.String()
	}
	named := stream(func(kind, line string) string { return "event: " + kind + "\ndata: " + line + "\n\n" })
	unnamed := stream(func(_, line string) string { return "data: " + line + "\n\n" })
	whole := `{"type":"message","model":"claude-test",` + "\r\n" + `"content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn"}`
	for _, tc := range []struct{ name, kind, sent string }{
		{"comments and fields", "text/event-stream", stream(func(kind, line string) string {
			return ": alive\r\n\r\nid: 7\r\nretry: 10\r\nevent:" + kind + "\r\ndata:" + line + "\r\n\r\n"
		})},
		{"a byte order mark", "text/event-stream", "\uFEFF" + named},
		{"no names", "text/event-stream", unnamed},
		{"no names, and something of another kind", "text/event-stream", unnamed[:strings.Index(unnamed, "data: "+text0)] + "data: [DONE]\n\ndata: {}\n\n" + unnamed[strings.Index(unnamed, "data: "+text0):]},
		{"names after the data", "text/event-stream", stream(func(kind, line string) string { return "data: " + line + "\nevent: " + kind + "\n\n" })},
		{"no content type", "", named},
		{"a whole answer", "application/json; charset=utf-8", whole},
		{"a whole answer in a stream", "text/event-stream", "data: " + strings.ReplaceAll(whole, "\r\n", "") + "\n\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, packed := range []bool{false, true} {
				s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header()["Content-Type"] = []string{tc.kind}
					if tc.kind == "" {
						w.Header()["Content-Type"] = nil
					}
					if !packed {
						_, _ = io.WriteString(w, tc.sent)
						return
					}
					w.Header().Set("Content-Encoding", "gzip") // although nobody asked for it
					z := gzip.NewWriter(w)
					_, _ = io.WriteString(z, tc.sent)
					_ = z.Close()
				})
				for _, change := range []func(*anthropic.Options){func(*anthropic.Options) {}, cutting} {
					if g, err := ask(t, s.model(t, change), say("Hi")); err != nil || g.Text != "Hi" || g.Finish != "end_turn" {
						t.Errorf("packed %t: got %q, %q, %v", packed, g.Text, g.Finish, err)
					}
				}
			}
		})
	}
}

// Who answers is said with the first chunk, whichever it is.
func TestWhoAnswers(t *testing.T) {
	snapshot := strings.ReplaceAll(begin, `"claude-test"`, `"claude-test-20261101"`)
	for _, tc := range []struct {
		name, want string
		answer     http.HandlerFunc
		whole      bool
	}{
		{"streamed", "claude-test-20261101", events(64, snapshot, text0, delta0("Hi"), stop0, endTurn, end), false},
		{"whole", "claude-test-20261101", reply(http.StatusOK, nil, `{"type":"message","model":"claude-test-20261101","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn"}`), true},
		{"a key for a name", "[redacted]", events(64, strings.ReplaceAll(begin, "claude-test", testKey), endTurn, end), false},
	} {
		m := serve(t, tc.answer).model(t, func(o *anthropic.Options) { o.NoStream = endpoint.Off(tc.whole) })
		var said []string
		for c, err := range m.Generate(t.Context(), say("Hi")) {
			if err != nil {
				t.Fatalf("%s: %v", tc.name, err)
			}
			said = append(said, c.Model)
		}
		if said[0] != tc.want || strings.Join(said[1:], "") != "" {
			t.Errorf("%s: the chunks say that %q answers, want %q once and first", tc.name, said, tc.want)
		}
	}
}

func TestWholeAnswer(t *testing.T) {
	body := `{"id":"msg_1","type":"message","role":"assistant","model":"claude-test","content":[
		{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"text","text":"Let me look."},
		{"type":"tool_use","id":"toolu_1","name":"covia_read","input":{"path":"w/ä"}},{"type":"tool_use","id":"toolu_2","name":"covia_list","input":{}}],
		"stop_reason":"tool_use","usage":{"input_tokens":10,"cache_read_input_tokens":200,"cache_creation_input_tokens":30,"output_tokens":40}}`
	s := serve(t, reply(http.StatusOK, nil, body))
	g, err := ask(t, s.model(t, func(o *anthropic.Options) { o.NoStream, o.MaxTokens = true, 64000 }), say("Hi"))
	if err != nil {
		t.Fatal(err)
	}
	want := got{
		Text: "Let me look.", Reasoning: "Hm.", Usage: used(40), Finish: "tool_use",
		Calls: []runtime.ToolCall{{ID: "toolu_1", Name: "covia_read", Arguments: `{"path":"w/ä"}`}, {ID: "toolu_2", Name: "covia_list", Arguments: `{}`}},
	}
	if diff := cmp.Diff(want, g); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	var sent map[string]any
	if err := json.Unmarshal(s.bodies[0], &sent); err != nil || sent["stream"] != nil {
		t.Errorf("the request asks for a stream: %s", s.bodies[0])
	}
}

// A whole answer is taken without its media type too.
func TestWholeAnswerWithoutType(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		_, _ = io.WriteString(w, "\uFEFF"+`{"type":"message","model":"claude-test","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn"}`)
	})
	if g, err := ask(t, s.model(t, func(o *anthropic.Options) { o.NoStream = true }), say("Hi")); err != nil || g.Text != "Hi" {
		t.Errorf("got %q, %v", g.Text, err)
	}
}

// afterCalls is the conversation that goes on after an answer with calls.
func afterCalls(g *got) *runtime.Request {
	req := say("Look around.")
	req.Messages = append(req.Messages, runtime.Message{Role: runtime.RoleAssistant, Text: g.Text, Calls: g.Calls})
	for _, call := range g.Calls {
		req.Messages = append(req.Messages, runtime.Message{Role: runtime.RoleTool, CallID: call.ID, Name: call.Name, Text: `{"ok":true}`})
	}
	return req
}

// What was thought before the calls goes back with their results, unchanged.
func TestThinkingGoesBack(t *testing.T) {
	s := serve(t, events(64, thinkingCalls...), hello(64))
	budget := func(o *anthropic.Options) { o.ThinkingBudget = 2048 }
	m := s.model(t, budget)
	g, err := ask(t, m, say("Look around."))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t, m, afterCalls(&g)); err != nil {
		t.Fatal(err)
	}
	golden(t, "thinking-goes-back", s.bodies[1])

	// Another model, as after a restart, has forgotten: the API would refuse a budget.
	if _, err := ask(t, s.model(t, budget), afterCalls(&g)); err != nil {
		t.Fatal(err)
	}
	golden(t, "thinking-forgotten", s.bodies[2])

	// A conversation that was changed is not that answer any more.
	g.Calls[0].Arguments = `{"path":"w/b"}`
	if _, err := ask(t, m, afterCalls(&g)); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(s.bodies[3]), "redacted_thinking") || !strings.Contains(string(s.bodies[3]), "w/b") {
		t.Errorf("the answer is not sent as the conversation has it: %s", s.bodies[3])
	}
}

// A name that the model made up goes back as the API takes it, beside what was
// thought; the conversation keeps the true one.
func TestOddNameGoesBackWithThinking(t *testing.T) {
	odd := strings.Split(strings.ReplaceAll(strings.Join(thinkingCalls, "\n"), "covia_read", "covia.read"), "\n")
	s := serve(t, events(64, odd...), hello(64))
	m := s.model(t, func(o *anthropic.Options) { o.ThinkingBudget = 2048 })
	g, err := ask(t, m, say("Look around."))
	if err != nil || g.Calls[0].Name != "covia.read" {
		t.Fatalf("got %+v, %v", g, err)
	}
	if _, err := ask(t, m, afterCalls(&g)); err != nil {
		t.Fatal(err)
	}
	if sent := string(s.bodies[1]); strings.Contains(sent, "covia.read") || !strings.Contains(sent, `"covia_read_`) || !strings.Contains(sent, "redacted_thinking") {
		t.Errorf("the answer goes back as %s", sent)
	}
}
