package schema

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
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
		switch {
		case s.index >= 0:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case isPlain(s.key):
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.key)
		default:
			b.WriteString("[" + strconv.Quote(s.key) + "]")
		}
	}
	return b.String()
}

// isPlain reports whether a key needs no quotes.
func isPlain(key string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$"
	return strings.Trim(key, letters+"0123456789-") == "" && key != "" && strings.IndexByte(letters, key[0]) >= 0
}

var (
	escaper   = strings.NewReplacer("~", "~0", "/", "~1")
	unescaper = strings.NewReplacer("~0", "~", "~1", "/")
)

// escape writes a name as it stands in a JSON pointer.
func escape(name string) string { return escaper.Replace(name) }

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

// follow returns what a pointer leads to.
func follow(v any, pointer string) (any, bool) {
	for _, name := range pointerNames(pointer) {
		found := false
		switch in := v.(type) {
		case map[string]any:
			v, found = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if found = err == nil && i >= 0 && i < len(in); found {
				v = in[i]
			}
		}
		if !found {
			return nil, false
		}
	}
	return v, true
}

// pointerPlace is the place that a pointer of the compiler leads to.
func pointerPlace(pointer string) string {
	var at []step
	for _, name := range pointerNames(pointer) {
		s := step{name, -1}
		if i, err := strconv.Atoi(name); err == nil && i >= 0 {
			s.index = i
		}
		at = append(at, s)
	}
	return place(at)
}
