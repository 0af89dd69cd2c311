package telemetry_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"usher/runtime/telemetry"
)

// What is concealed in a turn stands in none of its spans, however it is
// written; and in those of a turn that it starts, which concealed it or not.
func TestConcealed(t *testing.T) {
	for name, tc := range map[string]struct{ value, said string }{
		"as it is":             {`"hunter2-42"`, `the word is hunter2-42.`},
		"in an object":         {`{"name":"A","value":["hunter2-42"]}`, `hunter2-42`},
		"in a text of JSON":    {`{"input":"{\"value\":\"hunter2-42\"}"}`, `hunter2-42`},
		"a number":             {`{"pin":4242424242}`, `4242424242`},
		"escaped":              {`{"value":"a\"b<c>-hunter2-42"}`, `{"x":"a\"b<c>-hunter2-42"}`},
		"escaped for HTML":     {`{"value":"a\"b<c>-hunter2-42"}`, `{"x":"a\"b\u003cc\u003e-hunter2-42"}`},
		"lines, quoted":        {`{"value":"hunter2\nxx-42\n"}`, "> hunter2\n> xx-42"},
		"no JSON":              {`hunter2-42`, `hunter2-42`},
		"the longer one first": {`["hunter2","hunter2-42"]`, `hunter2-42`},
	} {
		t.Run(name, func(t *testing.T) {
			tel, kept := spans(t, true)
			ctx, turn := tel.StartTurn(t.Context(), telemetry.Turn{Agent: "Carol"})
			below, child := tel.StartTurn(telemetry.Carry(t.Context(), ctx), telemetry.Turn{Agent: "Kid"})
			telemetry.Conceal(below, tc.value)
			child.End(below, 1, telemetry.Usage{}, errors.New("quoting "+tc.said))
			asking, model := tel.StartModelCall(ctx, telemetry.ModelCall{Agent: "Carol"})
			message := telemetry.Message{Role: "assistant", Text: tc.said, Calls: []telemetry.MessageCall{{ID: "c1", Name: "x", Arguments: tc.said}}}
			model.Input(tc.said, []telemetry.Message{message, {Role: "tool", CallID: "c1", Text: tc.said}})
			model.End(asking, telemetry.Answer{Message: message}, nil)
			calling, tool := tel.StartToolCall(ctx, telemetry.ToolCall{Name: "x", Arguments: tc.said})
			tool.End(calling, "ok", tc.said, nil)
			turn.End(ctx, 1, telemetry.Usage{}, errors.New("quoting "+tc.said))
			if message.Text != tc.said || message.Calls[0].Arguments != tc.said {
				t.Error("the conversation itself was changed")
			}
			for _, s := range kept() {
				text := fmt.Sprint(s.Attributes, s.Status)
				for _, part := range []string{"hunter2", "-42", "4242"} {
					if strings.Contains(text, part) {
						t.Errorf("%s tells %q: %s", s.Name, part, text)
					}
				}
				if !strings.Contains(text, "[redacted]") {
					t.Errorf("%s does not say that something is left out: %s", s.Name, text)
				}
			}
		})
	}
}

// A sealed call tells no part of what went in or came out, or of its error.
func TestASealedCall(t *testing.T) {
	tel, kept := spans(t, true)
	ctx, turn := tel.StartTurn(t.Context(), telemetry.Turn{Agent: "Carol"})
	for _, err := range []error{nil, classed{errors.New(secret)}} {
		calling, tool := tel.StartToolCall(ctx, telemetry.ToolCall{Name: "x", Arguments: secret})
		tool.Seal()
		tool.End(calling, "ok", secret, err)
	}
	turn.End(ctx, 1, telemetry.Usage{}, nil)
	all := kept()
	if text := fmt.Sprintf("%+v", all); strings.Contains(text, "Kestrel") || !strings.Contains(text, "capability_denied") {
		t.Errorf("the spans are %s", text)
	}
}
