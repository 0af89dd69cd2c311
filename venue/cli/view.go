package cli

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"usher/runtime"
)

// view prints events: those of a turn while it happens, and those of a log. The
// answer goes to standard output, what leads to it to standard error.
type view struct {
	*streams
	calls map[string]runtime.ToolCall // that run
	model string                      // that answered last

	session  string          // of the turn, once it has begun
	announce string          // how the session is told when the turn begins: a format of its id; empty tells nothing
	live     bool            // a turn that runs
	waits    bool            // what it waits for is shown
	whole    bool            // the answer is printed when the turn has ended well
	unshown  strings.Builder // what the model has said and nobody has been shown
	midLine  bool
	answered bool // the model, at least once
	final    *runtime.TurnEnd
}

func (s *streams) view() *view { return &view{streams: s, calls: make(map[string]runtime.ToolCall)} }

// onOut is a view with all of it on standard output, for a command whose answer
// that is.
func (s *streams) onOut() *view {
	page := *s
	page.err, page.notes = s.out, s.paint
	return page.view()
}

// show prints a turn while it happens.
func (v *view) show(turn iter.Seq2[runtime.Event, error], asJSON bool) error {
	v.live = true
	for ev, err := range turn {
		if began, ok := ev.(runtime.TurnStart); ok {
			v.session = began.Session
			if v.announce != "" {
				v.note(fmt.Sprintf(v.announce, v.session))
			}
		}
		if err == nil && asJSON {
			err = v.json(ev)
		} else if err == nil {
			err = v.event(ev)
		}
		if err != nil {
			return v.end(err)
		}
	}
	return v.end(nil)
}

func (s *streams) json(ev runtime.Event) error {
	line, err := runtime.EventJSON(ev)
	if err == nil {
		_, err = fmt.Fprintf(s.out, "%s\n", s.paint.safeJSON(string(line)))
	}
	return err
}

// event prints what happens in a turn that runs.
func (v *view) event(ev runtime.Event) error {
	switch ev := ev.(type) {
	case runtime.TextDelta:
		return v.say(ev.Text)
	case runtime.ModelAnswer:
		v.answered = true
		if len(ev.Calls) > 0 {
			v.aside()
		}
		return v.endText()
	case runtime.TurnEnd:
		v.final = &ev
	case runtime.OutputRejection:
		v.aside()
		v.line(ev)
	case runtime.Compaction:
		v.note("the conversation is long: from here on a summary stands for its beginning")
	case runtime.TurnStart, runtime.ContextGap, runtime.ModelDelay, runtime.ToolStart, runtime.ToolEnd:
		v.line(ev)
	}
	return nil
}

// entry prints an entry of a log.
func (v *view) entry(e runtime.Entry) {
	switch ev := e.Event.(type) {
	case runtime.TurnStart:
		v.note(v.local(e.Time).Format(time.DateTime))
		fmt.Fprintln(v.err, v.notes.bold("> ")+v.notes.safe(ev.Text))
	case runtime.InboxMessage:
		v.note("message from " + ev.From + ":")
		fmt.Fprintln(v.err, v.notes.safe(ev.Text))
	case runtime.OutcomeNote:
		v.note(v.outcomeLine(&ev))
	case runtime.ModelAnswer:
		if v.model != "" && ev.Model != "" && ev.Model != v.model {
			v.note(fmt.Sprintf("%s answers from here on (%s before)", ev.Model, v.model))
		}
		v.model = cmp.Or(ev.Model, v.model)
		if ev.Text != "" {
			fmt.Fprintln(v.err, v.notes.safe(strings.TrimSuffix(ev.Text, "\n")))
		}
	case runtime.Step:
		v.note(fmt.Sprintf("step %d: %s", ev.N, stepLine(&ev)))
	case runtime.Compaction:
		v.note("from here on, this summary stands for all that is above:")
		fmt.Fprintln(v.err, v.notes.safe(ev.Summary))
	case runtime.TurnRest:
		v.note((&runtime.RestError{Waits: ev.Waits}).Error())
	case runtime.TurnResume:
		v.note(e.Time.Local().Format(time.DateTime) + ": the turn goes on")
	case runtime.TurnEnd:
		if ev.Error != "" {
			v.note("not finished: " + ev.Error)
		}
		v.silence(&ev)
	default:
		v.line(ev)
	}
}

// silence notes that a turn ended well and has no answer.
func (v *view) silence(ev *runtime.TurnEnd) {
	if ev.Error == "" && ev.Output == nil && strings.TrimSpace(ev.Text) == "" {
		v.note("the model answered nothing")
	}
}

// end closes the turn, which failed with err where that is not nil.
func (v *view) end(err error) error {
	err = cmp.Or(err, v.endText())
	if v.whole && err == nil {
		err = v.deliver()
	}
	v.aside()
	if v.final == nil {
		return err
	}
	if err == nil {
		v.silence(v.final)
	}
	if v.answered || v.final.Usage != (runtime.Usage{}) { // else none may have left, and the error says more
		v.note(usageLine(v.final))
	}
	return err
}

// say prints a piece of the answer.
func (v *view) say(text string) error {
	if v.whole {
		v.unshown.WriteString(text)
		return nil
	}
	v.unsettle()
	v.midLine = !strings.HasSuffix(text, "\n")
	_, err := io.WriteString(v.out, v.paint.safe(text))
	return err
}

// endText closes the last line of what the model has said.
func (v *view) endText() (err error) {
	v.unsettle()
	if v.midLine {
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
	for line := range strings.Lines(strings.TrimRight(v.unshown.String(), "\n")) {
		v.note("| " + strings.TrimSuffix(line, "\n"))
	}
	v.unshown.Reset()
}
