package cli

import (
	"fmt"
	"iter"
	"strings"

	"usher/runtime"
)

// heldAnswer is what the model has said and nobody has been shown yet.
type heldAnswer struct{ strings.Builder }

// showAnswer prints the answer of a turn. A person sees it come; a file or a
// pipe gets the answer alone, and only of a turn that ended well, so that what
// reads it never takes a word on the way, or half an answer, for the whole.
func (s *streams) showAnswer(turn iter.Seq2[runtime.Event, error], asJSON bool) error {
	if asJSON || s.paint.tty != nil {
		return s.show(turn, asJSON)
	}
	v := s.view()
	v.held = new(heldAnswer)
	return v.show(turn)
}

// deliver prints the answer that was held back.
func (v *view) deliver() error {
	v.held.Reset()
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

// aside shows what was held back and is not the answer, with a mark before each
// line: a model could write one like ours.
func (v *view) aside() {
	if v.held == nil || v.held.Len() == 0 {
		return
	}
	v.status.clear()
	for line := range strings.Lines(strings.TrimRight(v.held.String(), "\n")) {
		v.note("| " + strings.TrimSuffix(line, "\n"))
	}
	v.held.Reset()
}
