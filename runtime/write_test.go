package runtime_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"usher/caps/value"
	"usher/runtime"
)

// An event stands in an entry as encoding/json writes it.
func TestEventsAreWrittenAsEncoded(t *testing.T) {
	calls := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) runtime.ToolCall {
		return runtime.ToolCall{
			ID: rapid.String().Draw(t, "id"), Name: rapid.String().Draw(t, "name"), Arguments: rapid.String().Draw(t, "arguments"),
			Sealed: rapid.Bool().Draw(t, "sealed"),
		}
	}), 0, 3)
	text, count := rapid.OneOf(rapid.Just(""), rapid.Just("{"), rapid.String()), rapid.IntRange(0, 3)
	rapid.Check(t, func(t *rapid.T) {
		say := func() string { return text.Draw(t, "text") }
		n := func() int { return count.Draw(t, "n") }
		usage := func() runtime.Usage {
			return runtime.Usage{Input: n(), Output: n(), CacheRead: n(), CacheWrite: n(), Cost: int64(n())}
		}
		end := runtime.TurnEnd{Text: say(), Error: say(), Code: say(), Calls: n(), Usage: usage()}
		if n() > 1 {
			end.Output, end.Caused = json.RawMessage(`{"a":[]}`), &runtime.Spending{Calls: n(), Usage: usage()}
		}
		for _, ev := range []runtime.Event{
			runtime.TurnStart{Agent: say(), Session: say(), From: say(), Text: say()},
			runtime.ModelAnswer{Text: say(), Calls: calls.Draw(t, "calls"), Reasoning: say(), Usage: usage(), Finish: say(), Model: say()},
			runtime.ToolStart{Call: runtime.ToolCall{ID: say(), Name: say(), Arguments: say()}},
			runtime.ToolEnd{CallID: say(), Name: say(), Operation: say(), Outcome: say(), Result: say(), Sealed: n() > 1},
			runtime.InboxMessage{From: say(), Text: say()},
			end,
		} {
			want, err := value.Encode(ev)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := runtime.Entry{Seq: 1, Event: ev}.MarshalJSON()
			if _, got, _ := bytes.Cut(raw, []byte(`,"event":`)); err != nil || !bytes.Equal(got[:len(got)-1], want) {
				t.Fatalf("%T is written as %s, %v; want %s", ev, raw, err, want)
			}
		}
	})
}
