package cli

import (
	"fmt"
	"io"
	"iter"
	"strings"

	"usher/runtime"
)

// show prints a turn while it happens: the answer to standard output, what
// leads to it to standard error. The turn waits for whoever reads.
func (s *streams) show(turn iter.Seq2[runtime.Event, error], asJSON bool) error {
	if asJSON {
		return s.showJSON(turn)
	}
	v := s.view()
	defer v.status.clear()
	for ev, err := range turn {
		if err == nil {
			err = v.event(ev)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *streams) showJSON(turn iter.Seq2[runtime.Event, error]) error {
	for ev, err := range turn {
		if err != nil {
			return err
		}
		line, err := runtime.EventJSON(ev)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(s.out, "%s\n", s.paint.safeJSON(string(line))); err != nil {
			return err
		}
	}
	return nil
}

// note prints a quiet line, over what a terminal may have echoed of keys that
// were pressed meanwhile.
func (s *streams) note(text string) {
	if s.notes.live() {
		fmt.Fprint(s.err, "\r\x1b[K")
	}
	fmt.Fprintln(s.err, s.notes.dim(s.notes.safe(text)))
}

// view shows the events of one turn.
type view struct {
	*streams
	text     io.WriteCloser // the answer that the model is writing; nil between two
	midLine  bool
	answered bool // the model, at least once
	status   status
	thought  string                      // the line that the model is thinking
	writing  map[int]*draft              // calls that the model is writing, by index
	calls    map[string]runtime.ToolCall // those that run, by id
}

// draft is a call that the model is writing.
type draft struct {
	name string
	size int // of its arguments, so far
}

func (s *streams) view() *view {
	return &view{
		streams: s, status: status{w: s.err, paint: s.notes},
		writing: make(map[int]*draft), calls: make(map[string]runtime.ToolCall),
	}
}

func (v *view) event(ev runtime.Event) error {
	switch ev := ev.(type) {
	case runtime.TextDelta:
		return v.say(ev.Text)
	case runtime.ReasoningDelta:
		return v.think(ev.Text)
	case runtime.ToolCallDelta:
		return v.write(ev)
	case runtime.ModelDelayed:
		v.status.clear()
		v.note(late(ev))
	case runtime.Answered:
		v.answered = true
		clear(v.writing)
		v.thought = ""
		return v.endText()
	case runtime.ToolStarted:
		v.calls[ev.Call.ID] = ev.Call
		v.status.set("%s %s …", ev.Call.Name, brief(ev.Call.Arguments))
	case runtime.ToolFinished:
		v.status.clear()
		v.tool(ev, v.calls[ev.CallID].Arguments)
	case runtime.OutputRejected:
		v.status.clear()
		fmt.Fprintf(v.err, "%s the answer does not fit the output schema (try %d of %d): %s\n", v.notes.warn("·"), ev.Try, ev.Tries, v.notes.safe(ev.Reason))
	case runtime.Compacted:
		v.status.clear()
		v.note("the conversation is long: the model has a summary of its beginning from here on")
	case runtime.TurnFinished:
		if err := v.endText(); err != nil {
			return err
		}
		if v.answered || ev.Usage != (runtime.Usage{}) { // else none may have left, and the error says more
			v.note(spent(&ev))
		}
	}
	return nil
}

// say prints a piece of the answer.
func (v *view) say(text string) error {
	v.status.clear()
	if v.text == nil {
		v.text = v.paint.writer(v.out)
	}
	v.midLine = !strings.HasSuffix(text, "\n")
	_, err := io.WriteString(v.text, text)
	return err
}

// endText closes what the model has said, and its last line.
func (v *view) endText() error {
	v.status.clear()
	if v.text == nil {
		return nil
	}
	err := v.text.Close()
	v.text = nil
	if v.midLine && err == nil {
		_, err = io.WriteString(v.out, "\n")
	}
	v.midLine = false
	return err
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

// write says that the model is writing a tool call.
func (v *view) write(piece runtime.ToolCallDelta) error {
	if !v.notes.live() {
		return nil
	}
	call := v.writing[piece.Index]
	if call == nil {
		call = new(draft)
		v.writing[piece.Index] = call
	}
	if piece.Name != "" {
		call.name = piece.Name
	}
	call.size += len(piece.Arguments)
	err := v.free()
	v.status.set("%s … %s", call.name, size(call.size))
	return err
}
