package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
	"usher/venue"
	"usher/venue/a2a"
	"usher/venue/auth"
	"usher/venue/config"
	"usher/venue/server"
)

// wish is what an agent of the table is told to call: {"tool": …, "arguments": …}.
type wish struct {
	Tool      string         `json:"tool"`
	Operation string         `json:"operation"`
	Arguments map[string]any `json:"arguments"`
}

// obedient is a model that calls what it is told to, and says what came of it.
type obedient struct{}

func (obedient) Generate(_ context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		last := req.Messages[len(req.Messages)-1]
		var w wish
		if last.Role != runtime.RoleUser || json.Unmarshal([]byte(last.Text), &w) != nil {
			yield(runtime.Chunk{Text: last.Text}, nil)
			return
		}
		raw, err := json.Marshal(w.Arguments)
		yield(runtime.Chunk{Call: &runtime.CallDelta{ID: "c1", Name: w.Tool, Arguments: string(raw)}}, err)
	}
}

// verdict is what a caller is told of a call, as far as it is the gate's word.
type verdict struct {
	Error        string            `json:"error"`
	Operation    string            `json:"operation"`
	Ability      string            `json:"ability"`
	Resource     string            `json:"resource"`
	Capabilities []caps.Capability `json:"capabilities"`
	Retryable    bool              `json:"retryable"`
	Message      string            `json:"message"`
}

const allowed = "allowed"

// verdictOf reads what [tools.Explain] told. What was let through may have failed all the same.
func verdictOf(t *testing.T, raw []byte) string {
	t.Helper()
	var v verdict
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	switch v.Error {
	case "capability_denied":
	case "invalid_input":
		return v.Error
	default:
		return allowed
	}
	list := make([]string, len(v.Capabilities))
	for i, c := range v.Capabilities {
		list[i] = fmt.Sprintf("%s on %q", c.Can(), c.With()) // some doors have an end of their own
	}
	slices.Sort(list)
	return fmt.Sprintf("%s %s %s on %q by %v, retryable %v: %s", v.Error, v.Operation, v.Ability, v.Resource, list, v.Retryable, strings.Split(v.Message, " Your capabilities are")[0])
}

// doors are the ways to make a call in one venue, as the same principal.
func doors(t *testing.T, v *venue.Venue) map[string]func(*testing.T, wish) string {
	t.Helper()
	s, err := server.New(v, nil)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s)
	client := srv.Client()
	cs, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&sdk.StreamableClientTransport{Endpoint: srv.URL + "/mcp", HTTPClient: client, MaxRetries: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cs.Close()
		client.CloseIdleConnections()
		srv.Close()
	})
	post := func(t *testing.T, path string, body any) []byte {
		t.Helper()
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+path, bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("A2A-Version", "1.0")
		req.Header.Set("A2A-Extensions", a2a.URI)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if raw, err = io.ReadAll(resp.Body); err != nil {
			t.Fatal(err)
		}
		return raw
	}
	return map[string]func(*testing.T, wish) string{
		"Go": func(t *testing.T, w wish) string {
			p, err := v.Anonymous(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Invoke(t.Context(), w.Operation, w.Arguments); err != nil {
				return verdictOf(t, tools.Explain(err))
			}
			return allowed
		},
		"REST": func(t *testing.T, w wish) string {
			return verdictOf(t, post(t, "/api/v1/invoke", map[string]any{"operation": w.Operation, "input": w.Arguments, "wait": true}))
		},
		"MCP": func(t *testing.T, w wish) string {
			res, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: w.Tool, Arguments: w.Arguments})
			if err != nil {
				t.Fatal(err)
			}
			if !res.IsError {
				return allowed
			}
			raw, err := json.Marshal(res.StructuredContent)
			if err != nil {
				t.Fatal(err)
			}
			return verdictOf(t, raw)
		},
		"AG-UI": func(t *testing.T, w wish) string {
			raw := post(t, "/agui/bob", map[string]any{"threadId": fmt.Sprint(rand.Uint64()), "runId": "r", "messages": []any{map[string]any{"id": "1", "role": "user", "content": told(t, w)}}})
			for frame := range strings.SplitSeq(string(raw), "\n\n") {
				var e struct{ Type, Content string }
				if data, is := strings.CutPrefix(frame, "data: "); is && json.Unmarshal([]byte(data), &e) == nil && e.Type == "TOOL_CALL_RESULT" {
					return verdictOf(t, []byte(e.Content))
				}
			}
			t.Fatalf("no call was made: %s", raw)
			return ""
		},
		"A2A":        byTask(post),
		"A2A skill":  bySkill(post),
		"Agent-Auth": byVisit(t, srv),
		"Responses": func(t *testing.T, w wish) string {
			raw := post(t, "/v1/responses", map[string]any{"model": "bob", "input": told(t, w)})
			var out struct {
				Output []struct {
					Type, Output string
					Error        *struct{ Content []struct{ Text string } }
				}
			}
			if err := json.Unmarshal(raw, &out); err != nil {
				t.Fatal(err)
			}
			for _, it := range out.Output {
				if it.Type != "mcp_call" {
					continue
				}
				if it.Error != nil {
					return verdictOf(t, []byte(it.Error.Content[0].Text))
				}
				return allowed
			}
			t.Fatalf("no call was made: %s", raw)
			return ""
		},
	}
}

func told(t *testing.T, w wish) string {
	t.Helper()
	raw, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// The same call by the same principal gets the same verdict, and the same denial, through
// each door.
func TestOneVerdictThroughAllDoors(t *testing.T) {
	sets, calls := 20, 25
	if testing.Short() {
		sets = 4
	}
	r := rand.New(rand.NewPCG(13, 1)) // the same table each time
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	path := func() string {
		return pick("w/a", "w/a/b", "w/ab", "w/b/c", "/w/a", "w/a/", "w", "", "w//a", "w/../a", "o/x", "g/bob", "s/k", "j/x")
	}
	denials, verdicts := 0, make(map[string]int)
	for n := range sets {
		held := []caps.Capability{caps.MustCapability("g/bob", "agent/message"), caps.MustCapability("g/bob", "agent/request"), caps.MustCapability("j", "crud/read")}
		for range r.IntN(4) {
			held = append(held, caps.MustCapability(pick("w/a", "w/a/b", "w/b", "w", "o", "g/bob", ""), pick("crud", "crud/read", "crud/write", "crud/delete", "agent/read", "agent", "invoke", "*")))
		}
		set := caps.Of(held...)
		v, err := venue.Open(t.Context(), &venue.Options{
			Models: map[string]runtime.Model{"default": obedient{}},
			Config: &config.Config{User: auth.AnonymousUser, AgentAuth: visited(set), A2A: skilled()},
			Auth:   config.Auth{Anonymous: &config.AnonymousCaps{Caps: caps.Declare(set)}, Guests: config.Guests{Requests: 1 << 20}},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := v.Close(); err != nil {
				t.Error(err)
			}
		})
		owner, err := v.User(t.Context(), auth.AnonymousUser)
		if err != nil {
			t.Fatal(err)
		}
		config := map[string]any{"caps": set, "tools": []string{"covia:*", "agent:info", "agent:list", "agent:message", "agent:suspend", "secret:set", "json:merge", "grid:run"}}
		if _, err := owner.Invoke(t.Context(), "agent:create", map[string]any{"agentId": "bob", "config": config}); err != nil {
			t.Fatal(err)
		}
		all := doors(t, v)
		if !slices.ContainsFunc(held, func(c caps.Capability) bool { return c.Can().Covers("invoke") }) {
			delete(all, "A2A skill") // to use one as it is takes that much
		}
		for range calls {
			var w wish
			switch w.Operation = pick(called...); w.Operation {
			case "covia:write":
				w.Arguments = map[string]any{"path": path(), "value": 1}
			case "covia:copy":
				w.Arguments = map[string]any{"from": path(), "to": path()}
			case "agent:info":
				w.Arguments = map[string]any{"agentId": pick("bob", "carol", "../bob", "")}
			case "agent:message":
				w.Arguments = map[string]any{"agentId": pick("bob", "carol"), "message": "hi"}
			case "agent:list":
				w.Arguments = map[string]any{}
			case "json:merge":
				w.Arguments = map[string]any{"values": []any{}}
			case "grid:run":
				w.Arguments = map[string]any{"operation": "covia:read", "input": map[string]any{"path": path()}}
			default:
				w.Arguments = map[string]any{"path": path()}
			}
			w.Tool = strings.ReplaceAll(w.Operation, ":", "_")
			want := all["Go"](t, w)
			verdicts[strings.Fields(want)[0]]++
			if strings.HasPrefix(want, "capability_denied") {
				denials++
			}
			for name, door := range all {
				if got := door(t, w); got != want {
					t.Errorf("set %d, %s, %s %v:\n  by %s %s\n  by Go %s", n, set, w.Operation, w.Arguments, name, got, want)
				}
			}
		}
	}
	t.Logf("%d sets, %d calls each: %v", sets, calls, verdicts)
	if denials < sets || verdicts[allowed] < sets {
		t.Errorf("the table says little: %v", verdicts)
	}
}
