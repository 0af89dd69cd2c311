package openai

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"usher/caps"
	"usher/runtime"
	"usher/runtime/endpoint"
	"usher/tools"
	"usher/tools/toolstest"
	"usher/ucan"
)

// bob is an agent that may read below w/a, and how often he did.
func bob(t *testing.T, m runtime.Model) (*runtime.Runner, *runtime.Agent, *int) {
	t.Helper()
	type input struct {
		Key string `json:"key"`
	}
	reads := new(int)
	read := tools.New("map:read", "Read a key.",
		func(in input) []caps.Request { return []caps.Request{caps.Need("crud/read", in.Key)} },
		func(_ context.Context, _ tools.Call, in input) (string, error) {
			*reads++
			return "value of " + in.Key, nil
		},
		tools.ReadOnly(), tools.Within(caps.ScopeUnder("crud/read", "", 0, 0)))
	registry := new(tools.Registry)
	if err := registry.Register(read); err != nil {
		t.Fatal(err)
	}
	gate, mint := toolstest.NewGate(registry, nil)
	key, err := ucan.KeyFromSeed([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	held := caps.Of(caps.MustCapability("w/a", "crud/read"))
	return runtime.New(gate, nil), &runtime.Agent{
		ID: "bob", Model: m, Prompt: "You are Bob.", Tools: []*tools.Operation{read},
		Authority: mint.Agent(key.DID(), "bob", func() caps.Set { return held }),
	}, reads
}

const twoCalls = `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"map_read","arguments":"{\"key\":"}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"c2","function":{"name":"map_read","arguments":"{\"key\":\"w/b\"}"}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"w/a\"}"}}]}}]}

`

// A turn over the wire: two calls at once, of which the gate denies one; both
// results go back under the ids of their calls.
func TestTurn(t *testing.T) {
	var second struct {
		Messages []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
			CallID  string `json:"tool_call_id"`
			Calls   []struct {
				ID string `json:"id"`
			} `json:"tool_calls"`
		} `json:"messages"`
	}
	asked := 0
	m := serve(t, nil, func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		if asked++; asked == 1 {
			_, _ = io.WriteString(w, twoCalls+`data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n")
			return
		}
		if err := json.Unmarshal(raw, &second); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, done)
	})
	runner, agent, reads := bob(t, m)
	var final runtime.TurnEnd
	for ev, err := range runner.Turn(t.Context(), agent, runtime.NewSession("s", nil), runtime.Say{From: "alice", Text: "Read both."}) {
		if err != nil {
			t.Fatal(err)
		}
		if ev, ok := ev.(runtime.TurnEnd); ok {
			final = ev
		}
	}
	if final.Text != "b" || *reads != 1 || asked != 2 {
		t.Fatalf("answer %q, %d reads, %d requests", final.Text, *reads, asked)
	}
	got := second.Messages
	if len(got) != 5 || got[0].Role != "system" || got[1].Role != "user" || got[2].Role != "assistant" || len(got[2].Calls) != 2 {
		t.Fatalf("second request: %+v", got)
	}
	if got[3].CallID != "c1" || !strings.Contains(got[3].Content, "value of w/a") {
		t.Errorf("result of c1: %+v", got[3])
	}
	if got[4].CallID != "c2" || !strings.Contains(got[4].Content, "capability_denied") {
		t.Errorf("result of c2: %+v", got[4])
	}
}

// Calls that look complete in an answer that is not are not made.
func TestTurnCut(t *testing.T) {
	m := serve(t, nil, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, twoCalls)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	runner, agent, reads := bob(t, m)
	var last error
	for _, err := range runner.Turn(t.Context(), agent, runtime.NewSession("s", nil), runtime.Say{From: "alice", Text: "Read both."}) {
		if err != nil {
			last = err
		}
	}
	if !errors.Is(last, endpoint.ErrCut) || *reads != 0 {
		t.Errorf("error %v and %d reads, want %v and none", last, *reads, endpoint.ErrCut)
	}
}
