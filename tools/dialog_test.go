package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"usher/caps"
	"usher/tools"
	"usher/tools/content"
	"usher/tools/dialog"
	"usher/tools/fault"
	"usher/tools/toolstest"
	"usher/ucan"
)

type none struct{}

func may(none) []caps.Request { return []caps.Request{caps.Need("test", "test")} }

// A line is that of one call. Who calls without one cannot be asked, nor can they whom the
// call's own calls would reach by it.
func TestOf(t *testing.T) {
	asks := tools.New("test:ask", "Ask.", may, func(ctx context.Context, call tools.Call, _ none) (content.Output, error) {
		line := dialog.Of(ctx, call)
		line.Progress(1, 2, "half")
		line.Note("info", "a note")
		form, ok := line.Form("name")
		if !ok {
			return content.Output{}, &dialog.Needs{Questions: map[string]dialog.Question{"name": {Kind: dialog.Elicitation}}}
		}
		return content.Of(content.Text("Hello, " + form["name"].(string))), nil
	})
	through := tools.New("test:through", "Call what asks.", may, func(ctx context.Context, call tools.Call, _ none) (json.RawMessage, error) {
		res, err := call.Invoke(ctx, "test:ask", nil)
		return res.Output, err
	})
	registry := new(tools.Registry)
	if err := registry.Register(asks, through); err != nil {
		t.Fatal(err)
	}
	g, mint := toolstest.NewGate(registry, nil)
	key, err := ucan.KeyFromSeed(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	alice := mint.User(key.DID())
	var told []string
	line := &dialog.Line{
		Operation: "v/ops/test/ask", Answers: map[string]json.RawMessage{"name": json.RawMessage(`{"action":"accept","content":{"name":"Bob"}}`)},
		Progress: func(_, _ float64, text string) { told = append(told, text) }, Note: func(_ string, data any) { told = append(told, data.(string)) },
	}
	listening := dialog.With(t.Context(), line)
	declined, other := *line, *line
	other.Operation = "v/ops/test/through"
	declined.Answers = map[string]json.RawMessage{"name": json.RawMessage(`{"action":"decline"}`)}
	for _, tt := range []struct {
		name string
		ctx  context.Context
		op   string
		want string // empty: it asks
	}{
		{"nobody listens", t.Context(), "test:ask", ""},
		{"answered", listening, "test:ask", `{"content":[{"text":"Hello, Bob","type":"text"}]}`},
		{"declined", dialog.With(t.Context(), &declined), "test:ask", ""},
		{"a call on the way", dialog.With(t.Context(), &other), "test:through", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, err := g.Invoke(tt.ctx, alice, tools.Invocation{Operation: tt.op})
			if tt.want == "" && fault.Of(err) != fault.InputRequired || tt.want != "" && (err != nil || string(res.Output) != tt.want) {
				t.Errorf("Invoke(%s) = %s, %v", tt.op, res.Output, err)
			}
		})
	}
	if len(told) != 4 {
		t.Errorf("told %q", told)
	}
	if !content.Is(asks.OutputSchema()) {
		t.Errorf("the schema of content is not marked: %s", asks.OutputSchema())
	}
}
