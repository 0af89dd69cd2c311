// Package dialog is what passes between a handler and whoever made its call, while the
// call runs: the handler says how far it is, and asks. [Of] returns the line to the caller;
// where nobody listens, nothing that is said arrives, and nothing can be asked.
//
// A handler asks by returning [Needs]. The face puts the questions, and makes the call
// again with the answers: through the gate, as it made the first. Until then the handler
// has changed nothing, as it cannot know that the answers come.
package dialog

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"usher/tools"
	"usher/tools/fault"
)

// Kind is a kind of question, by the name that the Model Context Protocol has for the
// ability to answer it.
type Kind string

// The kinds.
const (
	Elicitation Kind = "elicitation" // of a person, who fills a form
	Sampling    Kind = "sampling"    // of the caller's model
	Roots       Kind = "roots"       // which folders the caller works in
)

// Question is one question, in the protocol's form: the parameters of
// elicitation/create, sampling/createMessage or roots/list.
type Question struct {
	Kind   Kind
	Params json.RawMessage
}

// Needs is the error of a handler that goes on once its questions are answered.
type Needs struct {
	Questions map[string]Question
	State     string // comes back with the answers, as it is; the caller can read it
}

func (e *Needs) Error() string {
	var kinds []string
	for _, q := range e.Questions {
		if !slices.Contains(kinds, string(q.Kind)) {
			kinds = append(kinds, string(q.Kind))
		}
	}
	slices.Sort(kinds)
	return "the operation asks its caller (" + strings.Join(kinds, ", ") + "), and nobody answers here: call it by a client of MCP that can"
}

// Code is [fault.InputRequired].
func (e *Needs) Code() fault.Code { return fault.InputRequired }

// Line is the line between a call and its caller.
type Line struct {
	Operation string // catalogue path of the call: no other has the line
	Kinds     []Kind // that the caller answers
	Answers   map[string]json.RawMessage
	State     string // of the [Needs] that is answered; empty for a first call

	// Progress says how far the call is: done of total, which is 0 where nobody knows.
	Progress func(done, total float64, text string)
	// Note says something beside, under a level of RFC 5424, for example info.
	Note func(level string, data any)
}

type lineKey struct{}

// With returns a context whose call has the line.
func With(ctx context.Context, l *Line) context.Context { return context.WithValue(ctx, lineKey{}, l) }

// Of is the line of a call. What others call on the way has none.
func Of(ctx context.Context, call tools.Call) *Line {
	l, _ := ctx.Value(lineKey{}).(*Line)
	if l == nil || l.Operation != call.Operation() || call.Authority().Run() != "" {
		return &Line{Progress: func(float64, float64, string) {}, Note: func(string, any) {}}
	}
	return l
}

// Takes reports whether the caller answers questions of a kind.
func (l *Line) Takes(k Kind) bool { return slices.Contains(l.Kinds, k) }

// Form is what a person filled in, where they did.
func (l *Line) Form(name string) (content map[string]any, ok bool) {
	var said struct {
		Action  string         `json:"action"`
		Content map[string]any `json:"content"`
	}
	if json.Unmarshal(l.Answers[name], &said) != nil || said.Action != "accept" {
		return nil, false
	}
	return said.Content, true
}
