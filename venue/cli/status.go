package cli

import (
	"fmt"
	"io"
	"slices"

	"usher/runtime"
)

// status is a quiet line for what is under way. The next thing to be said
// takes its place. Where nothing can be written over there is none.
type status struct {
	w     io.Writer
	paint paint
	shown string
}

// set shows the text, which is not ours, on the line.
func (l *status) set(format string, args ...any) {
	if !l.paint.live() {
		return
	}
	text := l.paint.line(fmt.Sprintf(format, args...), l.paint.width()-1)
	if text == l.shown {
		return
	}
	l.shown = text
	fmt.Fprint(l.w, "\r\x1b[K", l.paint.dim(text))
}

// clear makes the line free.
func (l *status) clear() {
	if l.shown != "" {
		fmt.Fprint(l.w, "\r\x1b[K")
		l.shown = ""
	}
}

// underWay shows what the turn waits for: the call that runs the longest, and
// with none, the model.
func (v *view) underWay() {
	if len(v.running) == 0 {
		v.status.set("waiting for the model …")
		return
	}
	v.status.set("%s %s …", v.running[0].Name, brief(v.running[0].Arguments))
}

// ended returns a call that runs no longer.
func (v *view) ended(id string) (call runtime.ToolCall) {
	v.running = slices.DeleteFunc(v.running, func(c runtime.ToolCall) bool {
		if c.ID == id {
			call = c
		}
		return c.ID == id
	})
	return call
}
