package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"usher/caps/value"
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
	var shown []string
	for i, v := range e.Violations {
		if i == maxShown {
			shown = append(shown, fmt.Sprintf("and %d more", len(e.Violations)-maxShown))
			break
		}
		shown = append(shown, v.String())
	}
	return strings.Join(shown, "; ")
}

// explain puts misfits in order, each once.
func explain(found misfits) *Error {
	slices.SortStableFunc(found, func(a, b misfit) int {
		return cmp.Or(slices.CompareFunc(a.at, b.at, func(x, y step) int {
			return cmp.Or(cmp.Compare(x.index, y.index), strings.Compare(x.key, y.key))
		}), strings.Compare(a.problem, b.problem))
	})
	e := new(Error)
	for _, f := range found {
		v := Violation{Place: place(f.at), Problem: f.problem}
		if n := len(e.Violations); f.problem != "" && (n == 0 || e.Violations[n-1] != v) {
			e.Violations = append(e.Violations, v)
		}
	}
	return e
}

// place writes a location as people do: lines[2].amount.
func place(at []step) string {
	var b strings.Builder
	for _, s := range at {
		if s.index >= 0 {
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		} else {
			b.WriteString(value.Place(s.key))
		}
	}
	return strings.TrimPrefix(b.String(), ".")
}

// pointerPlace is the place that a pointer of the compiler leads to.
func pointerPlace(pointer string) string {
	var b strings.Builder
	for _, name := range value.Keys(pointer) {
		b.WriteString(value.Place(name))
	}
	return strings.TrimPrefix(b.String(), ".")
}
