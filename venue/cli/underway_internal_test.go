package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"usher/runtime"
)

// liveView is a view whose status line is drawn nowhere. It is 100 columns wide.
func liveView(t *testing.T) *view {
	t.Helper()
	t.Setenv("TERM", "xterm")
	f, err := os.Create(filepath.Join(t.TempDir(), "screen"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return (&streams{out: io.Discard, err: io.Discard, notes: paint{tty: f}}).view()
}

func TestStatus(t *testing.T) {
	call := func(id, arguments string) runtime.ToolCall {
		return runtime.ToolCall{ID: id, Name: "agent_request", Arguments: arguments}
	}
	done := func(id string) runtime.ToolFinished {
		return runtime.ToolFinished{CallID: id, Name: "agent_request", Outcome: runtime.ToolOK}
	}
	const waits = "waiting for the model …"
	v := liveView(t)
	for _, step := range []struct {
		ev   runtime.Event
		want string
	}{
		{runtime.TurnStarted{}, waits},
		{runtime.ModelDelayed{Reason: "busy"}, waits},
		{runtime.ReasoningDelta{Text: "hm"}, "thinking: hm"},
		{runtime.TextDelta{Text: "I ask."}, ""},
		{runtime.ToolCallDelta{Name: "agent_request"}, "agent_request …"},
		{runtime.Answered{Text: "I ask.", Calls: []runtime.ToolCall{{}}}, ""},
		{runtime.ToolStarted{Call: call("1", `{"agentId":"Dan"}`)}, "agent_request Dan …"},
		{runtime.ToolStarted{Call: call("2", `{"agentId":"Eve"}`)}, "agent_request Dan … (and 1 more)"},
		{runtime.ToolStarted{Call: call("3", `{"agentId":"`+strings.Repeat("x", 200)+`"}`)}, "agent_request Dan … (and 2 more)"},
		{done("2"), "agent_request Dan … (and 1 more)"},
		{runtime.ToolStarted{Call: call("4", `{}`)}, "agent_request Dan … (and 2 more)"},
		{done("1"), "agent_request " + strings.Repeat("x", 69) + "… … (and 1 more)"},
		{done("nobody's"), "agent_request " + strings.Repeat("x", 69) + "… … (and 1 more)"},
		{done("3"), "agent_request …"},
		{done("4"), waits},
		{runtime.OutputRejected{}, waits},
		{runtime.Compacted{}, waits},
		{runtime.TextDelta{Text: "Done."}, ""},
	} {
		if err := v.event(step.ev); err != nil {
			t.Fatal(err)
		}
		if v.status.shown != step.want {
			t.Errorf("after %s the status is %q, want %q", step.ev.Kind(), v.status.shown, step.want)
		}
	}
	if err := v.event(runtime.ToolStarted{Call: call("5", `{}`)}); err != nil {
		t.Fatal(err)
	}
	if _ = v.end(nil); v.status.shown != "" {
		t.Errorf("the turn is over, and the status %q", v.status.shown)
	}
}

// An answer that is held back is seen to grow.
func TestStatusOfAHeldAnswer(t *testing.T) {
	v := liveView(t)
	v.whole = true
	for _, want := range []string{"answering … 4 bytes", "answering … 8 bytes"} {
		if err := v.event(runtime.TextDelta{Text: "four"}); err != nil || v.status.shown != want {
			t.Errorf("the status is %q, %v; want %q", v.status.shown, err, want)
		}
	}
}
