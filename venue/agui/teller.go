package agui

import (
	"encoding/json"
	"strconv"
	"strings"

	"usher/runtime"
)

// teller tells in a lane what happens in a run of the venue.
type teller struct {
	*lane
	used  *usage
	heard string            // of the answer that comes
	last  string            // the last answer
	calls map[string]string // arguments of calls
	late  bool              // it may have come into the middle of an answer, which it tells whole then
	waits []runtime.Wait

	pending []string // calls that the client is asked to make
	past    bool     // what comes was told and counted before the run rested
	ended   bool
}

// take tells an event.
func (t *teller) take(ev runtime.Event) {
	switch ev := ev.(type) {
	case runtime.TextDelta:
		if !t.late {
			t.heard += ev.Text
			t.say(ev.Text)
		}
	case runtime.ReasoningDelta:
		if !t.late {
			t.think(ev.Text)
		}
	case runtime.ModelAnswer:
		t.answer(ev)
	case runtime.ToolEnd:
		t.result(ev.CallID, ev.Result)
		if ev.Outcome == runtime.ToolDenied && json.Valid([]byte(ev.Result)) {
			t.out.custom("cog13.denied", json.RawMessage(ev.Result))
		}
	case runtime.ModelDelay:
		t.breaks()
		t.heard, t.late = "", false
		t.activity("delay", "usher.delayed", ev)
	case runtime.OutputRejection:
		t.activity("rejected"+strconv.Itoa(ev.Try), "usher.output_rejected", ev)
	case runtime.ContextGap:
		t.activity("missing-"+ev.Label, "usher.context_missing", ev)
	case runtime.Compaction:
		t.used.add("", ev.Usage)
		t.activity("compacted"+strconv.FormatUint(ev.Through, 10), "usher.compacted", map[string]uint64{"through": ev.Through})
	case runtime.Step:
		if !t.past && ev.Status != "PENDING" {
			t.step(strconv.Itoa(ev.N)+" "+ev.Op, ev.Status == "STARTED")
		}
	case runtime.TurnRest:
		t.waits = ev.Waits
	case runtime.TurnResume:
		t.waits = nil
	case runtime.TurnEnd:
		t.ended = true
		for _, asked := range ev.Pending {
			t.pending = append(t.pending, t.call(asked.CallID))
		}
	}
}

// answer tells an answer that is whole: what of it was not heard yet, and the calls. All of
// it comes anew where what was heard is none of it, as of a model that broke off.
func (t *teller) answer(ev runtime.ModelAnswer) {
	if !t.past {
		t.used.add(ev.Model, ev.Usage)
	}
	if t.heard == "" && !t.thinks && ev.Reasoning != "" && !t.late {
		t.think(ev.Reasoning)
	}
	more, goesOn := strings.CutPrefix(ev.Text, t.heard)
	if !goesOn {
		t.breaks()
	}
	t.say(more)
	for _, c := range ev.Calls {
		t.calls[c.ID] = c.Arguments
	}
	t.endAnswer(ev.Calls)
	t.heard, t.late = "", false
	if ev.Text != "" {
		t.last = ev.Text
	}
}

// concludes tells what the run says in the end, where that has not been told.
func (t *teller) concludes(response json.RawMessage) (result json.RawMessage) {
	var text string
	if json.Unmarshal(response, &text) != nil {
		text, result = string(response), response
	}
	if text != t.last {
		t.hush()
		t.say(text)
		t.endAnswer(nil)
	}
	return result
}
