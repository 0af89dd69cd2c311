package agui

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"usher/runtime"
)

// Whatever happens in a run, and in whatever order, a client takes its stream.
func TestNoRunIsRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []Event
		in := &input{ThreadID: "t", RunID: "r", ProtocolVersion: rapid.SampledFrom([]string{"", "1.0"}).Draw(t, "version")}
		e := begin(in, "R", func(sent *event) error {
			raw, err := json.Marshal(sent)
			var ev Event
			if err := errors.Join(err, json.Unmarshal(raw, &ev)); err != nil {
				return err
			}
			list = append(list, ev)
			return nil
		})
		used := new(usage)
		tellers := []*teller{{lane: &e.lane, used: used, calls: make(map[string]string)}}
		text := rapid.SampledFrom([]string{"", "a", "ab", "\u2028<b>"})
		name := rapid.SampledFrom([]string{"c1", "c2", ""})
		for n := range rapid.IntRange(0, 30).Draw(t, "events") {
			at := rapid.SampledFrom(tellers).Draw(t, "teller")
			var calls []runtime.ToolCall
			for range rapid.IntRange(0, 2).Draw(t, "calls") {
				calls = append(calls, runtime.ToolCall{ID: name.Draw(t, "id"), Name: "x", Arguments: text.Draw(t, "arguments")})
			}
			events := []runtime.Event{
				runtime.TextDelta{Text: text.Draw(t, "text")},
				runtime.ReasoningDelta{Text: text.Draw(t, "thought")},
				runtime.ToolCallDelta{ID: "c1", Name: "x"},
				runtime.ModelAnswer{Text: text.Draw(t, "answer"), Calls: calls, Reasoning: text.Draw(t, "reasoning"), Model: text.Draw(t, "model")},
				runtime.ToolStart{Call: runtime.ToolCall{ID: "c1"}},
				runtime.ToolEnd{CallID: name.Draw(t, "id"), Name: "x", Outcome: rapid.SampledFrom([]string{runtime.ToolOK, runtime.ToolDenied}).Draw(t, "outcome"), Result: `{}`},
				runtime.ModelDelay{Reason: "slow"},
				runtime.OutputRejection{Reason: "no", Try: 1},
				runtime.ContextGap{Label: "a"},
				runtime.Compaction{Through: 3},
				runtime.Step{N: rapid.IntRange(1, 2).Draw(t, "step"), Op: "x", Status: rapid.SampledFrom([]string{"PENDING", "STARTED", "COMPLETE", "FAILED"}).Draw(t, "status")},
				runtime.TurnRest{},
				runtime.TurnResume{},
				runtime.TurnEnd{},
				runtime.InboxMessage{},
				runtime.UsageDelta{},
				runtime.TurnStart{},
				runtime.OutcomeNote{},
			}
			switch kind := rapid.IntRange(0, len(events)+2).Draw(t, "kind"); kind {
			case len(events):
				s := &subagent{run: rapid.SampledFrom([]string{"S1", "S2", fmt.Sprint("N", n)}).Draw(t, "run"), name: "carol", caps: json.RawMessage(`[]`)}
				tellers = append(tellers, &teller{lane: at.begins(s), used: used, calls: make(map[string]string)})
			case len(events) + 1:
				at.ends(rapid.SampledFrom([]string{"", "failed"}).Draw(t, "code"), "why", rapid.Bool().Draw(t, "waits"))
			case len(events) + 2:
				e.state(map[string]any{"a": nil})
				e.delta([]any{map[string]any{"op": "add", "path": "/b", "value": nil}})
			default:
				at.take(events[kind])
			}
		}
		last := tellers[rapid.IntRange(0, len(tellers)-1).Draw(t, "last")]
		switch rapid.IntRange(0, 3).Draw(t, "end") {
		case 0:
			e.fail("failed", "why", used)
		case 1:
			e.finish(&outcome{interrupts: []interrupt{{id: "i", message: "m"}}}, used)
		case 2:
			e.finish(&outcome{cancelled: true}, used)
		default:
			e.finish(&outcome{result: tellers[0].concludes(json.RawMessage(rapid.SampledFrom([]string{`""`, `"a"`, `null`, `{"a":null}`}).Draw(t, "response")))}, used)
		}
		last.take(runtime.TextDelta{Text: "late"}) // of whom nothing is heard any more
		e.fail("failed", "again", used)
		if err := Verify(list); err != nil {
			t.Fatalf("%v\nof %v", err, list)
		}
	})
}
