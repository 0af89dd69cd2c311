package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"usher/runtime"
)

// underWay shows what the turn waits for: the call that runs the longest, and
// with none, the model.
func (v *view) underWay() {
	if len(v.running) == 0 {
		v.status.set("waiting for the model …")
		return
	}
	more := " …"
	if others := len(v.running) - 1; others > 0 {
		more = fmt.Sprintf(" … (and %d more)", others)
	}
	call := v.running[0]
	v.status.set("%s%s", v.notes.line(call.Name+" "+brief(call.Arguments), v.notes.width()-1-lipgloss.Width(more)), more)
}

// ended returns a call that runs no longer.
func (v *view) ended(id string) runtime.ToolCall {
	i := slices.IndexFunc(v.running, func(c runtime.ToolCall) bool { return c.ID == id })
	if i < 0 {
		return runtime.ToolCall{}
	}
	call := v.running[i]
	v.running = slices.Delete(v.running, i, i+1)
	return call
}

// free makes the line free for the status, where the answer is on the screen.
func (v *view) free() error {
	if v.midLine && v.paint.tty != nil && v.notes.live() {
		v.midLine = false
		_, err := io.WriteString(v.out, "\n")
		return err
	}
	return nil
}

// think shows the line that the model is thinking, while it is.
func (v *view) think(text string) error {
	if !v.notes.live() {
		return nil
	}
	const enough = 1 << 10 // no line of a screen is longer
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		v.thought, text = "", text[i+1:]
	}
	if len(v.thought) < enough {
		v.thought += text
	}
	if strings.TrimSpace(v.thought) == "" {
		return nil // the line before stays until this one has a word
	}
	err := v.free()
	v.status.set("thinking: %s", v.thought)
	return err
}

// write says which tool call the model is writing.
func (v *view) write(name string) error {
	if name == "" || !v.notes.live() {
		return nil
	}
	err := v.free()
	v.status.set("%s …", name)
	return err
}
