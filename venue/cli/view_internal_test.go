package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"usher/runtime"
)

// What a turn waits for is shown on a line that what is said next takes.
func TestWhatATurnWaitsFor(t *testing.T) {
	t.Setenv("TERM", "xterm")
	f, err := os.Create(filepath.Join(t.TempDir(), "screen"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var shown strings.Builder
	v := (&streams{out: io.Discard, err: &shown, notes: paint{tty: f}}).view()
	v.live = true
	const clear, waits = "\r\x1b[K", "\r\x1b[Kwaiting for the model …"
	call := runtime.ToolCall{ID: "1", Name: "agent_request", Arguments: `{"agentId":"` + strings.Repeat("x", 200) + `"}`}
	for _, step := range []struct {
		ev   runtime.Event
		want string
	}{
		{runtime.TurnStart{}, waits},
		{runtime.TextDelta{Text: "I ask."}, clear},
		{runtime.ModelAnswer{Text: "I ask.", Calls: []runtime.ToolCall{call}}, ""},
		{runtime.ToolStart{Call: call}, clear + "agent_request " + strings.Repeat("x", 82) + "… …"},
		{runtime.ToolEnd{CallID: "1", Name: "agent_request", Outcome: runtime.ToolOK}, clear + "✓ agent_request " + strings.Repeat("x", 82) + "…\n" + waits},
		{runtime.TextDelta{Text: "Done."}, clear},
		{runtime.TextDelta{Text: " Really."}, ""},
	} {
		shown.Reset()
		if err := v.event(step.ev); err != nil {
			t.Fatal(err)
		}
		if shown.String() != step.want {
			t.Errorf("for %T is shown %q, want %q", step.ev, shown.String(), step.want)
		}
	}
}
