package telemetry_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"usher/runtime/telemetry"
	"usher/tools/spend"
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
			below, child := tel.StartTurn(ctx, telemetry.Turn{Agent: "Kid", Secrets: turn.Secrets()})
			child.Conceal(tc.value)
			child.End(below, 1, spend.Usage{}, errors.New("quoting "+tc.said))
			asking, model := turn.StartModelCall(ctx, telemetry.ModelCall{})
			message := telemetry.Message{Role: "assistant", Text: tc.said, Calls: []telemetry.MessageCall{{ID: "c1", Name: "x", Arguments: tc.said}}}
			model.Input(tc.said, []telemetry.Message{message, {Role: "tool", CallID: "c1", Text: tc.said}})
			model.End(asking, telemetry.Answer{Message: message}, nil)
			_, end := turn.StartToolCall(ctx, telemetry.ToolCall{Name: "x", Arguments: tc.said})
			end("ok", tc.said, false, nil)
			turn.End(ctx, 1, spend.Usage{}, errors.New("quoting "+tc.said))
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
		_, end := turn.StartToolCall(ctx, telemetry.ToolCall{Name: "x", Arguments: secret})
		end("ok", secret, true, err)
	}
	turn.End(ctx, 1, spend.Usage{}, nil)
	all := kept()
	if text := fmt.Sprintf("%+v", all); strings.Contains(text, "Kestrel") || !strings.Contains(text, "capability_denied") {
		t.Errorf("the spans are %s", text)
	}
}

// What is concealed later is left out from then on, in the log too.
func TestConcealedLater(t *testing.T) {
	var out bytes.Buffer
	kept := tracetest.NewInMemoryExporter()
	tel, err := telemetry.New(telemetry.Options{Tracer: sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept)), Content: true}, slog.New(slog.NewJSONHandler(&out, nil)))
	if err != nil {
		t.Fatal(err)
	}
	const said = "first-4242, other-4343 and abc1"
	ctx, turn := tel.StartTurn(t.Context(), telemetry.Turn{Agent: "Carol"})
	for _, step := range []struct{ conceal, want string }{
		{`"first-4242"`, "[redacted], other-4343 and abc1"},
		{`"other-4343"`, "[redacted], [redacted] and abc1"},
		{`"abc"`, "[redacted], [redacted] and abc1"}, // too short to be told from other text
		{`"abc1"`, "[redacted], [redacted] and [redacted]"},
	} {
		turn.Conceal(step.conceal)
		_, end := turn.StartToolCall(ctx, telemetry.ToolCall{Name: "x"})
		end("ok", said, false, nil)
		asking, model := turn.StartModelCall(ctx, telemetry.ModelCall{})
		model.End(asking, telemetry.Answer{Message: telemetry.Message{Calls: []telemetry.MessageCall{{Name: said}}}}, nil)
		all := kept.GetSpans()
		for _, s := range all[len(all)-2:] {
			if text := fmt.Sprint(s.Attributes); !strings.Contains(text, step.want) {
				t.Errorf("when %s is concealed, %s tells %s, want %q", step.conceal, s.Name, text, step.want)
			}
		}
	}
	turn.End(ctx, 1, spend.Usage{}, errors.New("quoting "+said))
	if line := out.String(); !strings.Contains(line, "quoting [redacted], [redacted] and [redacted]") {
		t.Errorf("the log says %s", line)
	}
}

// With more secrets than can be looked for nothing is told.
func TestTooManyToConceal(t *testing.T) {
	tel, kept := spans(t, true)
	ctx, turn := tel.StartTurn(t.Context(), telemetry.Turn{Agent: "Carol"})
	for i := range 10_001 {
		turn.Conceal(fmt.Sprintf(`"secret-%d"`, i))
	}
	_, end := turn.StartToolCall(ctx, telemetry.ToolCall{Name: "x", Arguments: "harmless"})
	end("ok", "harmless", false, nil)
	turn.End(ctx, 1, spend.Usage{}, nil)
	if text := fmt.Sprint(kept()[0].Attributes); strings.Contains(text, "harmless") || strings.Count(text, "[redacted]") != 2 {
		t.Errorf("the span tells %s", text)
	}
}
