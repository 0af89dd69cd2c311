package runtime

import (
	"context"

	"usher/tools/fault"
)

// ErrWindow is what a Model's error wraps when the request and its answer do
// not fit the model's window. The turn then shortens the conversation.
var ErrWindow = fault.New(fault.Window, "the conversation does not fit the model's window")

// About is what is known of a model. Any part may be empty.
type About struct {
	Provider string // as OpenTelemetry's gen_ai.provider.name has it, for example "openai"
	Model    string // as the provider names it
	Server   string // host, or host:port, that is asked
	Window   int    // tokens of a request and its answer together
	Reasons  bool   // it is set to reason before it answers, and its answers have what it says then
}

// Describer is what a Model implements that knows about itself. Ask [Describe].
type Describer interface{ About() About }

// Counter is what a Model implements that can count the tokens of a request
// by its provider's own rule.
type Counter interface {
	CountTokens(ctx context.Context, req *Request) (int, error)
}

// Wrapper is what a Model over a Model implements, so that [As] finds what
// the one below can do. Of several it is the one that is asked first.
type Wrapper interface{ Unwrap() Model }

// As returns the first of m and the models below it that is a T.
func As[T any](m Model) (found T, ok bool) {
	for m != nil {
		if found, ok = m.(T); ok {
			return found, true
		}
		w, wraps := m.(Wrapper)
		if !wraps {
			break
		}
		m = w.Unwrap()
	}
	return found, false
}

// Describe returns what is known of m, from itself or the models below it.
func Describe(m Model) About {
	if d, ok := As[Describer](m); ok {
		return d.About()
	}
	return About{}
}
