package runtime

import (
	"fmt"

	"usher/caps/value"
	"usher/tools/fault"
)

// Bounds of what goes into one event of a log, so that each fits a record of the
// store.
const (
	// MaxSaid is the most that a message to an agent may take as JSON, in bytes, and
	// an answer of its model.
	MaxSaid = 480 << 10

	maxThought = 4 * MaxSaid     // bytes of reasoning that are taken from a model
	maxEncoded = MaxSaid * 3 / 2 // bytes of a tool's result as JSON
	maxWhy     = 16 << 10        // bytes of an error
)

// errAnswer: a model's answer is too large for a log.
var errAnswer = fault.New(fault.TooLarge, fmt.Sprintf("the model's answer takes more than %d bytes: ask for less at once, or have it write a long text in parts", MaxSaid))

// jsonSize is how many bytes a text takes as JSON, or its own length where that
// tells already on which side of the bounds it lies.
func jsonSize(text string) int {
	if len(text) <= MaxSaid/6 || len(text) > maxEncoded {
		return len(text)
	}
	return len(value.AppendString(nil, text))
}

// overflows reports whether the answer is too large while it comes.
func (a *assembly) overflows() bool {
	size := a.text.Len()
	for i := range a.calls {
		p := &a.calls[i]
		size += len(p.call.Name) + len(p.arguments)
	}
	return size > MaxSaid || a.thoughts.Len() > maxThought
}

// check is the error of an answer that no log takes.
func (a *ModelAnswer) check() error {
	size := jsonSize(a.Text) + jsonSize(a.Reasoning)
	for i := range a.Calls {
		c := &a.Calls[i]
		size += jsonSize(c.ID) + jsonSize(c.Name) + jsonSize(c.Arguments) + 64 // of punctuation
	}
	if size > MaxSaid {
		return errAnswer
	}
	return nil
}
