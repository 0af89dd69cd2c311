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
		{runtime.TextDelta{Text: "I ask."}, ""},
		{runtime.Answered{Text: "I ask.", Calls: []runtime.ToolCall{{}}}, ""},
		{runtime.ToolStarted{Call: call("1", `{"agentId":"Dan"}`)}, "agent_request Dan …"},
		{runtime.ToolStarted{Call: call("2", `{"agentId":"Eve"}`)}, "agent_request Dan …"},
		{runtime.ToolStarted{Call: call("3", `{"agentId":"`+strings.Repeat("x", 200)+`"}`)}, "agent_request Dan …"},
		{done("2"), "agent_request Dan …"},
		{runtime.ToolStarted{Call: call("4", `{}`)}, "agent_request Dan …"},
		{done("1"), "agent_request " + strings.Repeat("x", 84) + "…"},
		{done("nobody's"), "agent_request " + strings.Repeat("x", 84) + "…"},
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
			t.Errorf("after %T the status is %q, want %q", step.ev, v.status.shown, step.want)
		}
	}
	if err := v.event(runtime.ToolStarted{Call: call("5", `{}`)}); err != nil {
		t.Fatal(err)
	}
	if _ = v.end(nil); v.status.shown != "" {
		t.Errorf("the turn is over, and the status %q", v.status.shown)
	}
}
