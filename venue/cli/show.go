package cli

import (
	"fmt"
	"io"
	"iter"
	"strings"

	"usher/runtime"
)

// show prints a turn while it happens: the answer to standard output, what
// leads to it to standard error.
func (s *streams) show(turn iter.Seq2[runtime.Event, error], asJSON bool) error {
	if !asJSON {
		return s.view().show(turn)
	}
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

// showAnswer prints the answer of a turn. A person sees it come; a file or a
// pipe gets the answer alone, and only of a turn that ended well, so that what
// reads it never takes a word on the way, or half an answer, for the whole.
func (s *streams) showAnswer(turn iter.Seq2[runtime.Event, error], asJSON bool) error {
	if asJSON || s.paint.tty != nil {
		return s.show(turn, asJSON)
	}
	v := s.view()
	v.whole = true
	return v.show(turn)
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

// view shows the events of one turn.
type view struct {
	*streams
	whole    bool            // the answer is printed when the turn has ended well
	unshown  strings.Builder // what the model has said and nobody has been shown
	text     io.WriteCloser  // the answer that the model is writing; nil between two
	midLine  bool
	answered bool // the model, at least once
	status   status
	running  []runtime.ToolCall // calls that run, the oldest first
	final    *runtime.TurnFinished
}

func (s *streams) view() *view {
	return &view{streams: s, status: status{w: s.err, paint: s.notes}}
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
	case runtime.TextDelta:
		return v.say(ev.Text)
	case runtime.Answered:
		v.answered = true
		if len(ev.Calls) > 0 {
			v.aside()
		}
		return v.endText()
	case runtime.TurnFinished:
		v.final = &ev
	case runtime.TurnStarted:
		v.underWay()
	case runtime.ToolStarted:
		v.running = append(v.running, ev.Call)
		v.underWay()
	case runtime.ContextMissing, runtime.ModelDelayed, runtime.ToolFinished, runtime.OutputRejected, runtime.Compacted:
		v.line(ev)
	}
	return nil
}

// line prints an event that is told in a line of its own.
func (v *view) line(ev runtime.Event) {
	v.status.clear()
	switch ev := ev.(type) {
	case runtime.ToolFinished:
		v.tool(ev, v.ended(ev.CallID).Arguments)
	case runtime.OutputRejected:
		v.aside()
		v.told(ev)
	case runtime.Compacted:
		v.note("the conversation is long: from here on a summary stands for its beginning")
	default:
		v.told(ev)
	}
	v.underWay()
}

// end closes the turn, which failed with err where that is not nil.
func (v *view) end(err error) error {
	closeErr := v.endText()
	if err == nil {
		err = closeErr
	}
	if v.whole && err == nil {
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
	if v.whole {
		v.unshown.WriteString(text)
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

// deliver prints the answer of a turn that ended well.
func (v *view) deliver() error {
	v.unshown.Reset()
	if v.final == nil {
		return nil
	}
	text := v.final.Text
	if v.final.Output != nil {
		text = string(v.final.Output)
	}
	if strings.TrimSpace(text) == "" {
		return nil
	}
	_, err := fmt.Fprintln(v.out, strings.TrimSuffix(text, "\n"))
	return err
}

// aside shows what the model said that is not the answer, with a mark before
// each line: a model could write one like ours.
func (v *view) aside() {
	if v.unshown.Len() == 0 {
		return
	}
	v.status.clear()
	for line := range strings.Lines(strings.TrimRight(v.unshown.String(), "\n")) {
		v.note("| " + strings.TrimSuffix(line, "\n"))
	}
	v.unshown.Reset()
}
