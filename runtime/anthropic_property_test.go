package runtime_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"usher/runtime"
	"usher/runtime/anthropic"
	"usher/runtime/endpoint"
)

// What the runtime makes of any conversation, the API takes: the rules here are
// the API's own, written down a second time.
func TestConversationsKeepTheRules(t *testing.T) {
	s := serve(t, hello(1<<20))
	m := s.model(t)
	id := rapid.SampledFrom([]string{"", "call-1-0", "call-1-0-2", "call.1", "toolu_1", "a b"})
	said := rapid.SampledFrom([]string{"", " \n", "Hi", "a\u00a0b", "<&>"})
	arguments := rapid.SampledFrom([]string{"", "{}", `{"a":[1,2]}`, "[]", "null", "{", `"x"`, "7"})
	rapid.Check(t, func(t *rapid.T) {
		req := &runtime.Request{Messages: []runtime.Message{user("Go.")}}
		results := 0
		for range rapid.IntRange(0, 6).Draw(t, "answers") {
			msg := runtime.Message{Role: runtime.RoleAssistant, Text: said.Draw(t, "answer")}
			seen := make(map[string]bool)
			for range rapid.IntRange(0, 3).Draw(t, "calls") {
				if call := id.Draw(t, "id"); !seen[call] { // within one answer the runtime tells them apart
					seen[call] = true
					msg.Calls = append(msg.Calls, runtime.ToolCall{ID: call, Name: "n", Arguments: arguments.Draw(t, "arguments")})
				}
			}
			req.Messages = append(req.Messages, msg)
			for _, call := range msg.Calls {
				results++
				req.Messages = append(req.Messages, runtime.Message{Role: runtime.RoleTool, CallID: call.ID, Text: strconv.Itoa(results)})
			}
			if len(msg.Calls) == 0 || rapid.Bool().Draw(t, "speaks") {
				req.Messages = append(req.Messages, user(said.Draw(t, "said")))
			}
		}
		for _, err := range m.Generate(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
		}
		s.mu.Lock()
		body := s.bodies[len(s.bodies)-1]
		s.mu.Unlock()
		if got := claudeCheckConversation(t, body); got != results {
			t.Fatalf("%d results arrive, want %d: %s", got, results, body)
		}
	})
}

var idForm = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// checkConversation returns how many results there are; they are numbered in order.
func claudeCheckConversation(t *rapid.T, body []byte) (results int) {
	var sent struct {
		Messages []struct {
			Role    string
			Content []struct {
				Type, Text, ID string
				Input          json.RawMessage
				ToolUseID      string `json:"tool_use_id"`
				Content        []struct{ Text string }
			}
		}
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		t.Fatal(err)
	}
	var open []string
	used := make(map[string]bool)
	for i, msg := range sent.Messages {
		if want := [...]string{"user", "assistant"}[i%2]; msg.Role != want || len(msg.Content) == 0 {
			t.Fatalf("message %d is of %s with %d blocks, want some of %s: %s", i, msg.Role, len(msg.Content), want, body)
		}
		if msg.Role == "user" {
			for j, want := range open {
				if j >= len(msg.Content) || msg.Content[j].ToolUseID != want {
					t.Fatalf("message %d does not begin with the results of %v: %s", i, open, body)
				}
			}
			open = nil
		}
		for _, b := range msg.Content {
			switch b.Type {
			case "text":
				if strings.TrimSpace(b.Text) == "" {
					t.Fatalf("message %d has an empty text: %s", i, body)
				}
			case "tool_use":
				if !idForm.MatchString(b.ID) || used[b.ID] || !strings.HasPrefix(string(b.Input), "{") {
					t.Fatalf("message %d has a call %q with %s: %s", i, b.ID, b.Input, body)
				}
				used[b.ID] = true
				open = append(open, b.ID)
			case "tool_result":
				if results++; b.Content[0].Text != strconv.Itoa(results) {
					t.Fatalf("result %q stands at place %d: %s", b.Content[0].Text, results, body)
				}
			}
		}
	}
	if len(open) > 0 {
		t.Fatalf("calls %v have no results: %s", open, body)
	}
	return results
}

// However a stream is cut into pieces, its answer is the same.
func TestPiecesDoNotMatter(t *testing.T) {
	var size int
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { events(size, twoCalls...)(w, r) })
	m := s.model(t)
	size = 1 << 20
	want, err := ask(t, m, say("Hi"))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		size = rapid.IntRange(1, 300).Draw(rt, "size")
		g, err := ask(t, m, say("Hi"))
		if diff := cmp.Diff(want, g); diff != "" || err != nil {
			rt.Fatalf("in pieces of %d: %v (-want +got):\n%s", size, err, diff)
		}
	})
}

// canned answers without a network, for speed.
type canned http.HandlerFunc

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	c(w, r)
	res := w.Result()
	res.Request = r
	return res, nil
}

// Whatever a server sends, the sequence ends, with an error or with an answer.
func FuzzStream(f *testing.F) {
	for _, lines := range [][]string{twoCalls, thinkingCalls, {begin, apiError("api_error", "x")}, {`{"type":"content_block_start","index":-1,"content_block":null}`}} {
		f.Add(strings.Join(lines, "\n"))
	}
	f.Fuzz(func(t *testing.T, stream string) {
		m, err := anthropic.New(anthropic.Options{Options: endpoint.Options{Model: "claude-test", Transport: canned(events(1<<20, strings.Split(stream, "\n")...))}})
		if err != nil {
			t.Fatal(err)
		}
		finished, failed := false, false
		for c, err := range m.Generate(t.Context(), say("Hi")) {
			if failed {
				t.Fatalf("more comes after the error: %+v", c)
			}
			failed = failed || err != nil
			finished = finished || c.Finish != ""
		}
		if finished == failed {
			t.Errorf("finished %v, failed %v: want one of them", finished, failed)
		}
	})
}

// Signed thinking is remembered for a turn, not for ever.
func TestThoughtsAreBounded(t *testing.T) {
	n := 0
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n++
		lines := make([]string, len(thinkingCalls))
		for i, line := range thinkingCalls {
			line = strings.ReplaceAll(line, "toolu_", fmt.Sprintf("toolu_%d_", n))
			lines[i] = strings.Replace(line, "First ", strings.Repeat("x", 1<<20), 1)
		}
		events(1<<20, lines...)(w, r)
	})
	m := s.model(t)
	var answers []got
	for range 12 {
		g, err := ask(t, m, say("Look around."))
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, g)
	}
	for i, want := range map[int]bool{0: false, 2: false, 11: true} {
		if _, err := ask(t, m, afterCalls(&answers[i])); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(s.bodies[len(s.bodies)-1]), "redacted_thinking"); got != want {
			t.Errorf("the thinking of answer %d of 12 is remembered: %v, want %v", i+1, got, want)
		}
	}
}
