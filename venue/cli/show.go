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
	return s.view().show(turn)
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

// started calls fn with the turn's session, once the turn has begun.
func started(turn iter.Seq2[runtime.Event, error], fn func(session string)) iter.Seq2[runtime.Event, error] {
	return func(yield func(runtime.Event, error) bool) {
		for ev, err := range turn {
			if began, ok := ev.(runtime.TurnStarted); ok {
				fn(began.Session)
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// note prints a quiet line, over what a terminal may have echoed of keys that
// were pressed meanwhile.
func (s *streams) note(text string) {
	if s.notes.live() {
		fmt.Fprint(s.err, "\r\x1b[K")
	}
	fmt.Fprintln(s.err, s.notes.dim(s.notes.safe(text)))
}

// rejected says why the model was asked for its answer once more.
func (s *streams) rejected(ev runtime.OutputRejected) {
	fmt.Fprintf(s.err, "%s the answer does not fit the output schema (try %d of %d): %s\n", s.notes.warn("·"), ev.Try, ev.Tries, s.notes.safe(ev.Reason))
}

// view shows the events of one turn.
type view struct {
	*streams
	text     io.WriteCloser // the answer that the model is writing; nil between two
	held     *heldAnswer    // keeps it back until the turn has ended well; nil does not
	midLine  bool
	answered bool // the model, at least once
	status   status
	thought  string             // the line that the model is thinking
	writing  map[int]*draft     // calls that the model is writing, by index
	running  []runtime.ToolCall // calls that run, the oldest first
	final    *runtime.TurnFinished
}

func (s *streams) view() *view {
	return &view{streams: s, status: status{w: s.err, paint: s.notes}, writing: make(map[int]*draft)}
}

func (v *view) show(turn iter.Seq2[runtime.Event, error]) error {
	for ev, err := range turn {
		if err == nil {
			err = v.event(ev)
		}
		if err != nil {
			return v.end(err)
		}
	}
	return v.end(nil)
}

func (v *view) event(ev runtime.Event) error {
	switch ev := ev.(type) {
	case runtime.TurnStarted:
		v.underWay()
	case runtime.ContextMissing:
		v.status.clear()
		v.missing(ev)
		v.underWay()
	case runtime.TextDelta:
		return v.say(ev.Text)
	case runtime.ReasoningDelta:
		return v.think(ev.Text)
	case runtime.ToolCallDelta:
		return v.write(ev)
	case runtime.ModelDelayed:
		v.status.clear()
		v.note(late(ev))
		v.underWay()
	case runtime.Answered:
		v.answered = true
		clear(v.writing)
		v.thought = ""
		if len(ev.Calls) > 0 {
			v.aside()
		}
		return v.endText()
	case runtime.ToolStarted:
		v.running = append(v.running, ev.Call)
		v.underWay()
	case runtime.ToolFinished:
		v.status.clear()
		v.tool(ev, v.ended(ev.CallID).Arguments)
		v.underWay()
	case runtime.OutputRejected:
		v.status.clear()
		v.aside()
		v.rejected(ev)
		v.underWay()
	case runtime.Compacted:
		v.status.clear()
		v.note("the conversation is long: the model has a summary of its beginning from here on")
		v.underWay()
	case runtime.TurnFinished:
		v.final = &ev
	}
	return nil
}

// end closes the turn, which failed with err where that is not nil.
func (v *view) end(err error) error {
	closeErr := v.endText()
	if err == nil {
		err = closeErr
	}
	if v.held != nil && err == nil {
		err = v.deliver()
	}
	v.aside()
	if v.final == nil {
		return err
	}
	if err == nil && answeredNothing(v.final) {
		v.note(nothingSaid)
	}
	if v.answered || v.final.Usage != (runtime.Usage{}) { // else none may have left, and the error says more
		v.note(spent(v.final))
	}
	return err
}

// say prints a piece of the answer.
func (v *view) say(text string) error {
	if v.held != nil {
		v.held.WriteString(text)
		v.status.set("answering … %s", size(v.held.Len()))
		return nil
	}
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
