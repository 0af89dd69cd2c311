package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"usher/runtime"
	"usher/tools/tokens"
	"usher/venue"
	"usher/venue/a2a"
	"usher/venue/config"
	"usher/venue/face"
	"usher/venue/venuetest"
)

// model says what it was told; of "wait" it says nothing until it is stopped.
type model struct{ venuetest.Model }

func (m *model) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	if last := req.Messages[len(req.Messages)-1]; last.Role == runtime.RoleUser && strings.HasSuffix(last.Text, "wait") {
		return func(yield func(runtime.Chunk, error) bool) {
			<-ctx.Done()
			yield(runtime.Chunk{}, context.Cause(ctx))
		}
	}
	return m.Model.Generate(ctx, req)
}

// port is a venue on a port, whose user alice has the agents bob and carol.
type port struct {
	venue *venue.Venue
	alice *venue.User
	model *model
	door  *face.Door
	url   string
	token string
	later atomic.Int64 // than the machine's clock, ns
}

const agentsYAML = `
user: alice
store: memory
models: {default: {provider: offline}}
agents:
  - {id: bob, description: Keeps notes., tools: ["covia:*"], caps: [{with: w/notes, can: crud}, {with: w/refunds, can: crud, ask: true}]}
  - {id: carol, caps: []}
`

func serve(t *testing.T, section string) *port {
	t.Helper()
	c, err := config.Parse("usher.yaml", []byte(agentsYAML+section))
	if err != nil {
		t.Fatal(err)
	}
	return serveConfig(t, c)
}

func serveConfig(t *testing.T, c *config.Config) *port {
	t.Helper()
	m := new(model)
	p := serveModels(t, c, map[string]runtime.Model{"default": m})
	p.model = m
	return p
}

// serveModels is a port without a model that a test has a say in.
func serveModels(t *testing.T, c *config.Config, models map[string]runtime.Model) *port {
	t.Helper()
	p := new(port)
	p.venue = venuetest.Open(t, &venue.Options{Now: func() time.Time { return time.Now().Add(time.Duration(p.later.Load())) }, Models: models, Config: c})
	var err error
	if p.alice, err = p.venue.User(t.Context(), "alice"); err != nil {
		t.Fatal(err)
	}
	p.token = p.tokenOf(t, p.alice, tokens.New{Name: "a"})
	mux := http.NewServeMux()
	p.door = &face.Door{Venue: p.venue}
	f := a2a.New(p.door)
	for _, path := range []string{a2a.Prefix, a2a.Prefix + "/", a2a.CardPath} {
		mux.Handle(path, f)
	}
	srv := httptest.NewServer(mux)
	p.url = srv.URL
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		srv.Close()
	})
	return p
}

func (p *port) tokenOf(t *testing.T, of *venue.Principal, in tokens.New) string {
	t.Helper()
	raw, err := of.Invoke(t.Context(), "token:create", in)
	if err != nil {
		t.Fatal(err)
	}
	var made tokens.CreateResult
	if err := json.Unmarshal(raw, &made); err != nil {
		t.Fatal(err)
	}
	return made.Secret
}

var a2aNewToken = tokens.New{Name: "a"}

// a2aAsk is a request as a test makes it.
type a2aAsk struct {
	token   string // "-" is none; empty is alice's
	version string // "-" is none; empty is 1.0
	kind    string // of the body
	head    map[string]string
}

func (p *port) request(t *testing.T, a a2aAsk, verb, path, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), verb, p.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if a.token == "" {
		a.token = p.token
	}
	if a.token != "-" {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	if a.version == "" {
		a.version = "1.0"
	}
	if a.version != "-" {
		req.Header.Set("A2A-Version", a.version)
	}
	if a.kind == "" {
		a.kind = "application/json"
	}
	if body != "" {
		req.Header.Set("Content-Type", a.kind)
	}
	for k, v := range a.head {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// reply is an answer of either binding.
type reply struct {
	status int
	code   int    // of the error: of JSON-RPC
	reason string // of the error
	text   string // of the error
	result map[string]any
	raw    string
	head   http.Header
}

func read(t *testing.T, resp *http.Response) *reply {
	t.Helper()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := &reply{status: resp.StatusCode, raw: string(raw), head: resp.Header}
	out.decode(t, raw)
	return out
}

func (r *reply) decode(t *testing.T, raw []byte) {
	t.Helper()
	type failed struct {
		Code    int              `json:"code"`
		Message string           `json:"message"`
		Data    []map[string]any `json:"data"`
		Details []map[string]any `json:"details"`
	}
	var in struct {
		Result map[string]any `json:"result"`
		Error  *failed        `json:"error"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	if in.Error != nil {
		r.code, r.text = in.Error.Code, in.Error.Message
		for _, d := range append(in.Error.Data, in.Error.Details...) {
			if reason, is := d["reason"].(string); is && r.reason == "" {
				r.reason = reason
			}
		}
		return
	}
	if r.result = in.Result; r.result == nil {
		if err := json.Unmarshal(raw, &r.result); err != nil {
			t.Fatal(err)
		}
	}
}

// at is a member of the result, by its path.
func (r *reply) at(path string) any {
	var v any = r.result
	for key := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[key]
		case []any:
			if len(in) == 0 {
				return nil
			}
			v = in[0]
			if m, is := v.(map[string]any); is && key != "0" {
				v = m[key]
			}
		default:
			return nil
		}
	}
	return v
}

// rpc calls a method by JSON-RPC.
func (p *port) rpc(t *testing.T, a a2aAsk, path, method, params string) *reply {
	t.Helper()
	return read(t, p.request(t, a, "POST", "/a2a"+path, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`))
}

// events reads a stream to its end.
func events(t *testing.T, resp *http.Response) (list []*reply) {
	t.Helper()
	if kind := resp.Header.Get("Content-Type"); kind != "text/event-stream" {
		raw, _ := io.ReadAll(resp.Body)
		t.Fatalf("no stream: %s %s", kind, raw)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, is := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !is {
			continue
		}
		r := &reply{raw: string(data)}
		r.decode(t, data)
		list = append(list, r)
	}
	return list
}

func message(text, more string) string {
	raw, _ := json.Marshal(text)
	return `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":` + string(raw) + `}]` + more + `}}`
}

// begun is a task that waits, by its id and context.
func (p *port) begun(t *testing.T, text string) (id, context string) {
	t.Helper()
	r := p.rpc(t, a2aAsk{}, "/bob", "SendMessage", strings.TrimSuffix(message(text, ""), "}")+`,"configuration":{"returnImmediately":true}}`)
	if r.result == nil {
		t.Fatal(r.raw)
	}
	return r.at("task.id").(string), r.at("task.contextId").(string)
}
