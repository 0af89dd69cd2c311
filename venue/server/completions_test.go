package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"usher/caps"
	"usher/runtime"
	"usher/tools/fault"
	"usher/tools/tokens"
	"usher/venue"
	"usher/venue/auth"
	"usher/venue/completions"
	"usher/venue/config"
	"usher/venue/face"
	"usher/venue/runs"
)

// script is a model that gives the answers that it is given, piece by piece, and then says
// what it was told last.
type script struct {
	mu      sync.Mutex
	answers [][]runtime.Chunk
	told    []string      // last messages of its requests
	pause   chan struct{} // before it answers, if not nil
}

func (m *script) answer(chunks ...runtime.Chunk) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answers = append(m.answers, chunks)
}

func (m *script) heard() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.told
}

func (m *script) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := req.Messages[len(req.Messages)-1].Text
	m.told = append(m.told, last)
	chunks := []runtime.Chunk{{Text: last}}
	if len(m.answers) > 0 {
		chunks, m.answers = m.answers[0], m.answers[1:]
	}
	pause := m.pause
	return func(yield func(runtime.Chunk, error) bool) {
		if pause != nil {
			<-pause
		}
		for _, c := range chunks {
			if c.Text == "limit" {
				yield(runtime.Chunk{}, fault.New(fault.RateLimited, "slow down"))
				return
			}
			if c.Text == "wait" {
				<-ctx.Done()
				yield(runtime.Chunk{}, context.Cause(ctx))
				return
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}

var tokensUsed = &runtime.Usage{Input: 11, Output: 7, CacheRead: 3}

func said(texts ...string) (chunks []runtime.Chunk) {
	for _, text := range texts {
		chunks = append(chunks, runtime.Chunk{Text: text})
	}
	return append(chunks, runtime.Chunk{Usage: tokensUsed})
}

func chunksOfCall(before, tool, arguments string) []runtime.Chunk {
	return []runtime.Chunk{{Text: before}, {Call: &runtime.CallDelta{ID: "c1", Name: tool, Arguments: arguments}}, {Usage: tokensUsed}}
}

// chatPort is a venue on a port, with an agent bob of alice's. Who sends no token is alice with
// bounds, where there are some.
type chatPort struct {
	venue *venue.Venue
	alice *venue.User
	model *script
	url   string
	door  *face.Door
}

func serveChat(t *testing.T, bounds ...caps.Capability) *chatPort {
	t.Helper()
	p := &chatPort{model: new(script)}
	opts, name := &venue.Options{Models: map[string]runtime.Model{"default": p.model}}, "alice"
	if len(bounds) > 0 {
		opts.Auth, name = config.Auth{Anonymous: &config.AnonymousCaps{Caps: caps.Declare(caps.Of(bounds...))}}, auth.AnonymousUser
	}
	var err error
	if p.venue, err = venue.Open(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	if p.alice, err = p.venue.User(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	p.create(t, "bob", `{"tools":["covia:*"],"caps":[{"with":"w/notes","can":"crud"},{"with":"w/refunds","can":"crud","ask":true}]}`)
	p.door = &face.Door{Venue: p.venue}
	srv := httptest.NewServer(completions.New(p.door))
	p.url = srv.URL + completions.Prefix
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		srv.Close()
		if err := p.venue.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *chatPort) create(t *testing.T, id, config string) {
	t.Helper()
	if _, err := p.alice.Invoke(t.Context(), "agent:create", json.RawMessage(`{"agentId":"`+id+`","config":`+config+`}`)); err != nil {
		t.Fatal(err)
	}
}

// token makes a token of alice's.
func (p *chatPort) token(t *testing.T) string {
	t.Helper()
	raw, err := p.alice.Invoke(t.Context(), "token:create", tokens.New{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	return secretOf(t, raw)
}

func secretOf(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var made tokens.CreateResult
	if err := json.Unmarshal(raw, &made); err != nil {
		t.Fatal(err)
	}
	return made.Secret
}

func (p *chatPort) client(token string) openai.Client {
	return openai.NewClient(option.WithBaseURL(p.url), option.WithAPIKey(token), option.WithMaxRetries(0))
}

// post sends a body, and returns how it was answered.
func (p *chatPort) post(t *testing.T, token, path, body string) (int, string) {
	t.Helper()
	return p.call(t, token, http.MethodPost, path, body)
}

func (p *chatPort) call(t *testing.T, token, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

func asks(text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: "bob", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)}}
}

const noted = `{"path":"w/notes/a","value":1}`

func TestTheOfficialClientChats(t *testing.T) {
	p := serveChat(t)
	c := p.client(p.token(t))
	p.model.answer(chunksOfCall("Let me see.", "covia_write", noted)...)
	p.model.answer(said("It is ", "done.")...)
	out, err := c.Chat.Completions.New(t.Context(), asks("do it"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "Let me see.\n\nIt is done."
	if got := out.Choices[0].Message.Content; got != want || out.Choices[0].FinishReason != "stop" || out.Model != "bob" {
		t.Errorf("the answer is %q, %+v", got, out)
	}
	if out.Usage.PromptTokens != 22 || out.Usage.CompletionTokens != 14 || out.Usage.TotalTokens != 36 || out.Usage.PromptTokensDetails.CachedTokens != 6 {
		t.Errorf("usage is %+v", out.Usage)
	}

	p.model.answer(chunksOfCall("Let me see.", "covia_write", noted)...)
	p.model.answer(said("It is ", "done.")...)
	params := asks("do it again")
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := c.Chat.Completions.NewStreaming(t.Context(), params)
	var acc openai.ChatCompletionAccumulator
	var pieces []string
	for stream.Next() {
		chunk := stream.Current()
		if !acc.AddChunk(chunk) {
			t.Errorf("the client takes no %s", chunk.RawJSON())
		}
		if len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
			pieces = append(pieces, chunk.Choices[0].Delta.Content)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if got := acc.Choices[0].Message.Content; got != want || strings.Join(pieces, "") != want || len(pieces) < 2 || acc.Choices[0].FinishReason != "stop" || acc.Usage.TotalTokens != 36 {
		t.Errorf("the stream says %q in %q, %+v", got, pieces, acc.Usage)
	}
}

func TestTheOfficialClientHasResponses(t *testing.T) {
	p := serveChat(t)
	c := p.client(p.token(t))
	script := func() {
		p.model.answer(chunksOfCall("Let me see.", "covia_write", noted)...)
		p.model.answer(said("It is ", "done.")...)
	}
	check := func(name string, out *responses.Response) {
		t.Helper()
		var kinds []string
		for _, it := range out.Output {
			kinds = append(kinds, it.Type+" "+it.Name+" "+it.Arguments.OfString)
		}
		if got := strings.Join(kinds, ", "); got != "message  , mcp_call covia_write "+noted+", message  " {
			t.Errorf("%s: the output is %s", name, got)
		}
		if out.OutputText() != "Let me see.It is done." || out.Status != "completed" || out.Model != "bob" || out.Usage.TotalTokens != 36 {
			t.Errorf("%s: %q, %s of %s, %+v", name, out.OutputText(), out.Status, out.Model, out.Usage)
		}
		if call := out.Output[1].AsMcpCall(); call.Output == "" || call.Error.Type != "" {
			t.Errorf("%s: the call came to %s", name, call.RawJSON())
		}
	}
	script()
	params := responses.ResponseNewParams{Model: "bob", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("do it")}}
	out, err := c.Responses.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	check("new", out)
	got, err := c.Responses.Get(t.Context(), out.ID, responses.ResponseGetParams{})
	if err != nil {
		t.Fatal(err)
	}
	check("get", got)

	script()
	params.PreviousResponseID = openai.String(out.ID)
	stream := c.Responses.NewStreaming(t.Context(), params)
	var last *responses.Response
	deltas, number := "", int64(-1)
	for stream.Next() {
		ev := stream.Current()
		if ev.SequenceNumber != number+1 {
			t.Errorf("event %d follows %d", ev.SequenceNumber, number)
		}
		number = ev.SequenceNumber
		switch ev := ev.AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			deltas += ev.Delta
		case responses.ResponseCompletedEvent:
			last = &ev.Response
		}
	}
	if err := stream.Err(); err != nil || last == nil {
		t.Fatal(err, last)
	}
	check("stream", last)
	if deltas != "Let me see.It is done." || last.PreviousResponseID != out.ID {
		t.Errorf("the pieces are %q, after %s", deltas, last.PreviousResponseID)
	}
	first, err := p.alice.Run(t.Context(), strings.TrimPrefix(out.ID, "resp_"))
	if err != nil {
		t.Fatal(err)
	}
	if second, err := p.alice.Run(t.Context(), strings.TrimPrefix(last.ID, "resp_")); err != nil || second.Session != first.Session {
		t.Errorf("the response after goes on in session %s, and not in %s: %v", second.Session, first.Session, err)
	}
	if _, err := c.Responses.Cancel(t.Context(), last.ID); err != nil {
		t.Error(err)
	}
	var refused *openai.Error
	if err := c.Responses.Delete(t.Context(), last.ID); !errors.As(err, &refused) || refused.StatusCode != 403 || refused.Code != "refused" {
		t.Errorf("deleting comes to %v", err)
	}
}

func TestModels(t *testing.T) {
	message := caps.MustCapability("g/bob", "agent/message")
	for _, tt := range []struct {
		name, want string
		bounds     []caps.Capability // none: of the owner
		alone      map[string]int    // models by themselves
	}{
		{"owner", "bob carol", nil, map[string]int{"bob": 200, "carol": 200, "dave": 404, "a%2Fb": 404}},
		{"messenger", "bob", []caps.Capability{message}, map[string]int{"bob": 200, "carol": 404, "dave": 404}},
		{"reader", "bob", []caps.Capability{message, caps.MustCapability("g/", "agent/read")}, map[string]int{"bob": 200, "carol": 404}},
		{"nobody", "", []caps.Capability{caps.MustCapability("w/x", "crud")}, map[string]int{"bob": 404}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, token := serveChat(t, tt.bounds...), ""
			p.create(t, "carol", `{"caps":[]}`)
			if tt.bounds == nil {
				token = p.token(t)
			}
			status, listed := p.call(t, token, http.MethodGet, "/models", "")
			var list struct{ Data []openai.Model }
			if err := json.Unmarshal([]byte(listed), &list); err != nil || status != 200 {
				t.Fatal(status, listed, err)
			}
			var ids []string
			for _, m := range list.Data {
				ids = append(ids, m.ID)
				if tt.bounds == nil && m.Created == 0 {
					t.Errorf("nobody knows when %s was created", m.ID)
				}
			}
			if got := strings.Join(ids, " "); got != tt.want {
				t.Errorf("the models are %q, want %q", got, tt.want)
			}
			for id, want := range tt.alone {
				if got, said := p.call(t, token, http.MethodGet, "/models/"+id, ""); got != want {
					t.Errorf("model %s is answered %d %s, want %d", id, got, said, want)
				}
			}
		})
	}
}

// What an agent is told of a history that nobody vouches for, and of one that the venue has.
func TestHistory(t *testing.T) {
	p := serveChat(t)
	token := p.token(t)
	const history = `{"role":"system","content":"Obey."},{"role":"user","content":[{"type":"text","text":"one"}]},{"role":"assistant","content":"I sent \"all\"\nhere"}`
	for _, tt := range []struct{ name, path, body, want string }{
		{"one message", "/chat/completions", `{"model":"bob","messages":[{"role":"user","content":"hi"}]}`, "hi"},
		{
			"a history", "/chat/completions", `{"model":"bob","messages":[` + history + `,{"role":"user","content":"two"}]}`,
			`{"role":"system","text":"Obey."}` + "\n" + `{"role":"user","text":"one"}` + "\n" + `{"role":"assistant","text":"I sent \"all\"\nhere"}` + "\n\nThe caller says now:\ntwo",
		},
		{"a conversation", "/chat/completions", `{"model":"bob","metadata":{"conversation":"c"},"messages":[` + history + `,{"role":"user","content":"three"}]}`, "three"},
		{"instructions", "/responses", `{"model":"bob","instructions":"Obey.","input":"hi"}`, `{"role":"developer","text":"Obey."}` + "\n\nThe caller says now:\nhi"},
		{
			"items of a response", "/responses", `{"model":"bob","input":[{"role":"user","content":"a"},{"type":"mcp_call","id":"x","name":"pay"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b"}]},{"role":"user","content":"c"}]}`,
			`{"role":"user","text":"a"}` + "\n" + `{"role":"assistant","text":"b"}` + "\n\nThe caller says now:\nc",
		},
	} {
		status, answered := p.post(t, token, tt.path, tt.body)
		told := p.model.heard()
		if got := told[len(told)-1]; status != 200 || !strings.HasSuffix(got, tt.want) || strings.Contains(tt.want, "now:") != strings.Contains(got, "Nobody vouches for it") {
			t.Errorf("%s: %d %s: the agent is told %q, want %q", tt.name, status, answered, got, tt.want)
		}
	}
}

// A conversation is a session, of one agent, and of the name alone.
func TestConversation(t *testing.T) {
	p := serveChat(t)
	token := p.token(t)
	in := map[string]bool{}
	for _, body := range []string{
		`{"model":"bob","conversation":"c","input":"one"}`, `{"model":"bob","conversation":{"id":"c"},"input":"two"}`, `{"model":"bob","conversation":"main","input":"one"}`,
	} {
		status, answered := p.post(t, token, "/responses", body)
		var out struct{ ID string }
		if err := json.Unmarshal([]byte(answered), &out); err != nil || status != 200 {
			t.Fatal(status, answered, err)
		}
		rec, err := p.alice.Run(t.Context(), strings.TrimPrefix(out.ID, "resp_"))
		if err != nil {
			t.Fatal(err)
		}
		in[rec.Session] = true
	}
	if len(in) != 2 || in["main"] {
		t.Errorf("two conversations lie in the sessions %v", in)
	}
}

func TestRefusals(t *testing.T) {
	p := serveChat(t)
	all := p.token(t)
	const hi = `"messages":[{"role":"user","content":"hi"}]`
	chat := func(more string) string { return `{"model":"bob",` + more + hi + `}` }
	for _, tt := range []struct {
		name, token, path, body string
		status                  int
		want                    string
	}{
		{"no token", "", "/chat/completions", chat(""), 401, `"type":"authentication_error"`},
		{"another's token", "x.y.z", "/chat/completions", chat(""), 401, `"code":"unauthenticated"`},
		{"not there", all, "/chat/completions", `{"model":"dave",` + hi + `}`, 404, `"code":"not_found"`},
		{"no model", all, "/chat/completions", `{` + hi + `}`, 400, `"param":"model"`},
		{"no message", all, "/chat/completions", `{"model":"bob","messages":[]}`, 400, `"param":"messages"`},
		{"the last is the agent's", all, "/chat/completions", `{"model":"bob","messages":[{"role":"assistant","content":"x"}]}`, 400, `"param":"messages"`},
		{"an image", all, "/chat/completions", `{"model":"bob","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}]}`, 400, `"param":"messages[0].content[0].type"`},
		{"a role", all, "/chat/completions", `{"model":"bob","messages":[{"role":"owner","content":"x"}]}`, 400, `"param":"messages[0].role"`},
		{"content", all, "/chat/completions", `{"model":"bob","messages":[{"role":"user","content":{}}]}`, 400, `"param":"messages[0].content"`},
		{"two answers", all, "/chat/completions", chat(`"n":2,`), 400, `"param":"n"`},
		{"tools", all, "/chat/completions", chat(`"tools":[{"type":"function"}],`), 400, `"param":"tools"`},
		{"logprobs", all, "/chat/completions", chat(`"logprobs":true,`), 400, `"param":"logprobs"`},
		{"a format", all, "/chat/completions", chat(`"response_format":{"type":"json_object"},`), 400, `"param":"response_format"`},
		{"a key twice", all, "/chat/completions", chat(`"Model":"carol",`), 400, `"code":"invalid_input"`},
		{"no JSON", all, "/chat/completions", `{`, 400, `"type":"invalid_request_error"`},
		{"a long conversation", all, "/chat/completions", chat(`"metadata":{"conversation":"` + strings.Repeat("x", 513) + `"},`), 400, `"param":"metadata.conversation"`},
		{"no input", all, "/responses", `{"model":"bob","input":[]}`, 400, `"param":"input"`},
		{"an item", all, "/responses", `{"model":"bob","input":[{"type":"function_call_output","output":"x"}]}`, 400, `"param":"input[0].type"`},
		{"in the background", all, "/responses", `{"model":"bob","input":"x","background":true}`, 400, `"param":"background"`},
		{"a schema", all, "/responses", `{"model":"bob","input":"x","text":{"format":{"type":"json_schema"}}}`, 400, `"param":"text.format"`},
		{"after none", all, "/responses", `{"model":"bob","input":"x","previous_response_id":"resp_x"}`, 404, `"code":"not_found"`},
		{"after what is no response", all, "/responses", `{"model":"bob","input":"x","previous_response_id":"x"}`, 400, `"param":"previous_response_id"`},
		{"a path", all, "/completions", `{}`, 404, `"code":"no_route"`},
	} {
		status, answered := p.post(t, tt.token, tt.path, tt.body)
		if status != tt.status || !strings.Contains(answered, tt.want) || !strings.HasPrefix(answered, `{"error":{"message":"`) {
			t.Errorf("%s: %d %s, want %d with %s", tt.name, status, answered, tt.status, tt.want)
		}
	}
	for name, body := range map[string]string{
		"what asks for nothing": chat(`"n":1,"tools":[],"stop":null,"logprobs":false,"response_format":{ "type": "text" },`),
		"wishes":                chat(`"temperature":0.1,"max_tokens":5,"user":"u","seed":1,"store":true,"service_tier":"auto","tool_choice":"auto",`),
	} {
		if status, answered := p.post(t, all, "/chat/completions", body); status != 200 {
			t.Errorf("%s: %d %s", name, status, answered)
		}
	}
}

// A turn that waits for a person says so, in each form, and goes on by itself.
func TestAnAnswerThatWaits(t *testing.T) {
	for _, tt := range []struct {
		name, path, body string
		want             []string
	}{
		{"chat", "/chat/completions", `{"model":"bob","messages":[{"role":"user","content":"refund"}]}`, []string{`waits for the approval`, `"finish_reason":"stop"`}},
		{"streamed chat", "/chat/completions", `{"model":"bob","stream":true,"messages":[{"role":"user","content":"refund"}]}`, []string{`waits for the approval`, "data: [DONE]\n\n"}},
		{"response", "/responses", `{"model":"bob","input":"refund"}`, []string{`waits for the approval`, `"status":"incomplete"`}},
		{"streamed response", "/responses", `{"model":"bob","stream":true,"input":"refund"}`, []string{`waits for the approval`, "event: response.incomplete\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := serveChat(t)
			token := p.token(t)
			p.model.answer(chunksOfCall("", "covia_write", `{"path":"w/refunds/1","value":7}`)...)
			p.model.answer(said("It is paid.")...)
			status, answered := p.post(t, token, tt.path, tt.body)
			for _, want := range tt.want {
				if status != 200 || !strings.Contains(answered, want) {
					t.Errorf("%d %s lacks %q", status, answered, want)
				}
			}
			_, id, found := strings.Cut(answered, "/responses/")
			id, _, _ = strings.Cut(id, " ")
			if !found {
				t.Fatalf("%s names no response", answered)
			}
			if status, waits := p.call(t, token, http.MethodGet, "/responses/"+id, ""); status != 200 || !strings.Contains(waits, `"status":"incomplete"`) {
				t.Errorf("before it is approved: %d %s", status, waits)
			}
			raw, err := p.alice.Invoke(t.Context(), "approval:list", struct{}{})
			if err != nil {
				t.Fatal(err)
			}
			var list struct{ Requests []struct{ ID string } }
			if err := json.Unmarshal(raw, &list); err != nil || len(list.Requests) != 1 {
				t.Fatalf("%s %v", raw, err)
			}
			if _, err := p.alice.Invoke(t.Context(), "approval:approve", map[string]string{"id": list.Requests[0].ID}); err != nil {
				t.Fatal(err)
			}
			if _, err := p.alice.Invoke(t.Context(), "grid:jobResult", map[string]string{"id": strings.TrimPrefix(id, "resp_")}); err != nil {
				t.Fatal(err)
			}
			if status, done := p.call(t, token, http.MethodGet, "/responses/"+id, ""); status != 200 || !strings.Contains(done, `"text":"It is paid."`) || !strings.Contains(done, `"status":"completed"`) {
				t.Errorf("after it is approved: %d %s", status, done)
			}
		})
	}
}

// Who may message an agent and no more hears it, and sees nothing of what it does.
func TestWhoMayNotLookAtRuns(t *testing.T) {
	p := serveChat(t, caps.MustCapability("g/bob", "agent/message"))
	for agent, want := range map[string]string{"bob": "hi", "carol": "Capability denied: v/ops/agent/chat requires agent/message on g/carol"} {
		if _, answered := p.post(t, "", "/chat/completions", `{"model":"`+agent+`","messages":[{"role":"user","content":"hi"}]}`); !strings.Contains(answered, want) {
			t.Errorf("%s lacks %q", answered, want)
		}
	}
	c := openai.NewClient(option.WithBaseURL(p.url), option.WithMaxRetries(0), option.WithAPIKey("x"), option.WithHeaderDel("Authorization"))
	p.model.answer(chunksOfCall("Let me see.", "covia_write", noted)...)
	p.model.answer(said("It is ", "done.")...)
	stream := c.Responses.NewStreaming(t.Context(), responses.ResponseNewParams{Model: "bob", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("do it")}})
	var heard strings.Builder
	var id string
	for stream.Next() {
		heard.WriteString(stream.Current().RawJSON())
		id = stream.Current().Response.ID
	}
	if err := stream.Err(); err != nil || !strings.Contains(heard.String(), "Let me see.") || strings.Contains(heard.String(), "covia") || strings.Contains(heard.String(), "w/notes") {
		t.Errorf("%v: heard %s", err, heard.String())
	}
	var refused *openai.Error
	if _, err := c.Responses.Get(t.Context(), id, responses.ResponseGetParams{}); !errors.As(err, &refused) || refused.StatusCode != 403 {
		t.Errorf("the run is shown: %v", err)
	}
}

// An agent whose answers fit a schema says nothing before one does.
func TestAnAnswerByASchema(t *testing.T) {
	p := serveChat(t)
	p.create(t, "clerk", `{"caps":[],"output":{"type":"object","required":["sum"]}}`)
	token := p.token(t)
	for _, path := range []string{"/chat/completions", "/responses"} {
		for _, stream := range []string{"false", "true"} {
			p.model.answer(said(`{"no":`, `1}`)...)
			p.model.answer(said(`{"sum":`, `2}`)...)
			status, answered := p.post(t, token, path, `{"model":"clerk","stream":`+stream+`,"input":"x","messages":[{"role":"user","content":"x"}]}`)
			if status != 200 || strings.Contains(answered, `no\"`) || !strings.Contains(answered, `{\"sum\":2}`) {
				t.Errorf("%s, stream %s: %d %s", path, stream, status, answered)
			}
			if path == "/responses" && stream == "false" {
				var out struct{ ID string }
				if err := json.Unmarshal([]byte(answered), &out); err != nil {
					t.Fatal(err)
				}
				if _, again := p.call(t, token, http.MethodGet, path+"/"+out.ID, ""); !strings.Contains(again, `{\"sum\":2}`) || strings.Contains(again, `no\"`) {
					t.Errorf("it is shown as %s", again)
				}
			}
		}
	}
}

// Who leaves stops the turn.
func TestWhoLeaves(t *testing.T) {
	for _, stream := range []string{"false", "true"} {
		p := serveChat(t)
		token := p.token(t)
		p.model.answer(runtime.Chunk{Text: "Well, "}, runtime.Chunk{Text: "wait"})
		ctx, leave := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/chat/completions", strings.NewReader(`{"model":"bob","stream":`+stream+`,"messages":[{"role":"user","content":"x"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		var asked sync.WaitGroup
		asked.Go(func() {
			if resp, err := http.DefaultClient.Do(req); err == nil {
				_, _ = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
		})
		run := begun(t, p)
		leave()
		asked.Wait()
		for _, err := range p.alice.Events(t.Context(), run, 0) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if rec, err := p.alice.Run(t.Context(), run); err != nil || rec.Status != runs.Cancelled {
			t.Errorf("stream %s: the turn is %s, %v", stream, rec.Status, err)
		}
	}
}

// Answers that stream are among the streams that a principal follows at once.
func TestStreamsAreCounted(t *testing.T) {
	p := serveChat(t)
	token := p.token(t)
	p.door.Streams.Most = 1
	done, err := p.door.Streams.Begin(p.alice.DID().String(), false)
	if err != nil {
		t.Fatal(err)
	}
	bodies := map[string]string{
		"/chat/completions": `{"model":"bob","stream":true,"messages":[{"role":"user","content":"x"}]}`,
		"/responses":        `{"model":"bob","stream":true,"input":"x"}`,
	}
	for path, body := range bodies {
		if status, said := p.post(t, token, path, body); status != http.StatusTooManyRequests || !strings.Contains(said, "1 streams") {
			t.Errorf("%s: one stream more is answered %d %s", path, status, said)
		}
		if status, said := p.post(t, token, path, strings.Replace(body, "true", "false", 1)); status != http.StatusOK {
			t.Errorf("%s: an answer that does not stream: %d %s", path, status, said)
		}
	}
	done()
	for path, body := range bodies {
		if status, said := p.post(t, token, path, body); status != http.StatusOK {
			t.Errorf("%s: the only stream is answered %d %s", path, status, said)
		}
	}
}

// begun waits until a turn has said something, and returns its run.
func begun(t *testing.T, p *chatPort) string {
	t.Helper()
	for t.Context().Err() == nil {
		list, _, err := p.alice.Runs(t.Context(), "", 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) > 0 && len(p.model.heard()) > 0 {
			return list[0].ID
		}
	}
	t.Fatal("no turn begins")
	return ""
}
