package completions

import (
	"strings"

	"usher/runtime"
	"usher/tools/fault"
)

// between stands between two texts of one turn.
const between = "\n\n"

// recital is what a turn says, as one text that grows.
type recital struct {
	text   strings.Builder
	from   int // where the answer begins in text that comes now
	usage  runtime.Usage
	finish string // why the last answer ended, in the provider's word
}

// answer is the answer that comes now, as far as it came.
func (c *recital) answer() string { return c.text.String()[c.from:] }

// piece takes a piece of the answer that comes now, and returns it as the text grows by it.
func (c *recital) piece(text string) (grown string) {
	if text == "" {
		return ""
	}
	if c.answer() == "" && c.from > 0 {
		c.text.WriteString(between)
		c.from += len(between)
		grown = between
	}
	c.text.WriteString(text)
	return grown + text
}

// take takes an event, and returns what the text grows by.
func (c *recital) take(ev runtime.Event) (grown string) {
	switch ev := ev.(type) {
	case runtime.TextDelta:
		return c.piece(ev.Text)
	case runtime.ModelAnswer:
		c.usage, c.finish = c.usage.Plus(ev.Usage), ev.Finish
		grown = c.rest(ev.Text)
		c.from = c.text.Len()
	}
	return grown
}

// rest takes an answer whole, and returns what of it was not said yet: all, where what was
// said is none of it, as of a model that broke off and was asked again.
func (c *recital) rest(answer string) string {
	more, goesOn := strings.CutPrefix(answer, c.answer())
	if !goesOn {
		c.from = c.text.Len()
	}
	return c.piece(more)
}

// end takes what the turn came to. A turn that waits says so, and for what.
func (c *recital) end(response string, failed error, id string) (grown string, err error) {
	c.from = c.text.Len()
	switch {
	case fault.Of(failed) == fault.Waiting:
		return c.piece(waitText(failed, id)), nil
	case failed != nil:
		return "", failed
	case !strings.HasSuffix(c.text.String(), response): // one that came whole
		return c.piece(response), nil
	}
	return "", nil
}

// waitText says for what a turn waits, and what to do. The error is that of agent:chat, and
// tells as much as the caller may know.
func waitText(err error, id string) string {
	return "[" + err.Error() + ". This answer goes on by itself when that has come; GET " + Prefix + "/responses/" + responseID(id) + " has it then.]"
}
