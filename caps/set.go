package caps

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Set is an immutable list of capabilities, made ready for checking. The zero
// value holds nothing and denies everything; [Unrestricted] allows everything.
// It is a pointer inside: copy it freely.
type Set struct{ c *compiled }

// Unrestricted returns the set that allows every valid request, other
// principals' resources included. It is what null means in COG-13.
func Unrestricted() Set { return Set{unrestricted} }

// Of returns the set of list. A zero Capability, which grants nothing, is left
// out.
func Of(list ...Capability) Set {
	kept := make([]Capability, 0, len(list))
	for _, c := range list {
		if c.can != "" {
			kept = append(kept, c)
		}
	}
	return Set{compile(kept)}
}

// IsUnrestricted reports whether s is [Unrestricted].
func (s Set) IsUnrestricted() bool { return s.c == unrestricted }

// IsEmpty reports whether s is restricted and holds nothing: it denies
// everything.
func (s Set) IsEmpty() bool { return s.c == nil || s.c == crowded }

// Len returns the number of capabilities; 0 for an unrestricted set.
func (s Set) Len() int { return len(s.list()) }

// All returns the capabilities as written, in order; none for an unrestricted
// set.
func (s Set) All() iter.Seq[Capability] { return slices.Values(s.list()) }

func (s Set) list() []Capability {
	if s.c == nil {
		return nil
	}
	return s.c.list
}

// In returns s with the owner's own DID URLs in bare form, or s itself where it
// holds none.
func (s Set) In(owner string) Set {
	list := s.list()
	if !slices.ContainsFunc(list, func(c Capability) bool { return c.in(owner) != c }) {
		return s
	}
	bare := slices.Clone(list)
	for i, c := range bare {
		bare[i] = c.in(owner)
	}
	return Set{compile(bare)}
}

// SeenBy returns s, written by one principal, as another writes it: bare
// resources get the writer's DID, and the reader's own lose theirs. URIs keep
// their form.
func (s Set) SeenBy(reader, writer string) Set {
	list := s.list()
	if len(list) == 0 || reader == writer {
		return s
	}
	seen := make([]Capability, 0, len(list))
	for _, c := range list {
		if c.Resource().bare() {
			with := writer
			if c.With() != "" {
				with += "/" + c.With()
			}
			there, err := NewCapability(with, string(c.can))
			if err != nil {
				continue // too long to be written so: it is not held there
			}
			c = there
		}
		seen = append(seen, c.in(reader))
	}
	return Of(seen...)
}

// bare reports whether the resource lies in whatever namespace it is read in.
func (r Resource) bare() bool { return r.DID() == "" && !strings.Contains(r.text, ":/") }

// String returns e.g. "crud on w/decisions/, crud/read on w/", "(none)" or
// "(unrestricted)".
func (s Set) String() string { return s.text(s.Len()) }

// text is [Set.String] of the first capabilities, with how many more there are.
func (s Set) text(most int) string {
	list := s.list()
	switch {
	case s.IsUnrestricted():
		return "(unrestricted)"
	case len(list) == 0:
		return "(none)"
	}
	shown := make([]string, min(most, len(list)))
	for i := range shown {
		shown[i] = list[i].String()
	}
	text := strings.Join(shown, ", ")
	if more := len(list) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
