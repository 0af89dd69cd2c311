package schema

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"usher/caps/value"
)

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

var (
	escaper   = strings.NewReplacer("~", "~0", "/", "~1")
	unescaper = strings.NewReplacer("~0", "~", "~1", "/")
)

// pointerNames are the names in a JSON pointer.
func pointerNames(pointer string) []string {
	if pointer == "" {
		return nil
	}
	names := strings.Split(pointer[1:], "/")
	for i, name := range names {
		names[i] = unescaper.Replace(name)
	}
	return names
}

// pointerPlace is the place that a pointer of the compiler leads to.
func pointerPlace(pointer string) string {
	var b strings.Builder
	for _, name := range pointerNames(pointer) {
		b.WriteString(value.Place(name))
	}
	return strings.TrimPrefix(b.String(), ".")
}
