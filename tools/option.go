package tools

import (
	"encoding/json"

	"usher/caps"
)

// Option declares more about an operation.
type Option func(*Operation)

// Within declares one requirement of the operation for [Operation.CouldAllow]:
// its resource lies in one of the alternatives. Call it once a requirement.
// Without it the abilities are taken from the needs of an empty input, on any
// resource.
func Within(alternatives ...caps.Scope) Option {
	return func(o *Operation) { o.groups = append(o.groups, alternatives) }
}

// ReadOnly declares that the operation changes nothing.
func ReadOnly() Option { return func(o *Operation) { o.readOnly = true } }

// Idempotent declares that running it twice equals running it once.
func Idempotent() Option { return func(o *Operation) { o.idempotent = true } }

// WithKey declares that the operation does once what several calls of one
// [Call.Key] ask for, and answers each of them: a run that goes on after a crash
// makes such a call again.
func WithKey() Option { return func(o *Operation) { o.keyed = true } }

// Exclusive declares that the operation changes who may do what: of several
// calls that are asked for at once it runs alone, in its place.
func Exclusive() Option { return func(o *Operation) { o.exclusive = true } }

// InLane declares what calls have to take their turns at, beside their
// resources: those of one lane, if it is not empty, run in their order.
func InLane(lane func(input json.RawMessage) string) Option {
	return func(o *Operation) { o.lane = lane }
}

// WithStarts declares that the operation runs others, and which, with the input of
// each as far as it is known beforehand; nil where that cannot be told.
func WithStarts(which func(input json.RawMessage) []Invocation) Option {
	return func(o *Operation) { o.starts, o.forwards = which, true }
}
