package schema

import (
	"fmt"
	"slices"
	"strings"
)

// Violation is one way in which a value does not fit.
type Violation struct {
	Place   string // "lines[2].amount"; empty for the value itself
	Problem string // "expected number, got string"
}

func (v Violation) String() string {
	if v.Place == "" {
		return v.Problem
	}
	return v.Place + ": " + v.Problem
}

// Error says how a value does not fit a schema. There is at least one
// violation; they are sorted by place.
type Error struct{ Violations []Violation }

// isMissing is the problem of a field that has to be there.
const isMissing = "required, but missing"

// Incomplete reports whether nothing is wrong but fields that are missing.
func (e *Error) Incomplete() bool {
	return !slices.ContainsFunc(e.Violations, func(v Violation) bool { return v.Problem != isMissing })
}

// maxShown bounds the violations in one text.
const maxShown = 8

func (e *Error) Error() string {
	var b strings.Builder
	for i, v := range e.Violations {
		if i == maxShown {
			fmt.Fprintf(&b, "; and %d more", len(e.Violations)-maxShown)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(v.String())
	}
	return b.String()
}
