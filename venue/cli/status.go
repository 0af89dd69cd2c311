package cli

import (
	"fmt"
	"io"
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
