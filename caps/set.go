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
type Set struct{ c *program }

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

// IsEmpty reports whether s is restricted and grants nothing: it denies
// everything.
func (s Set) IsEmpty() bool {
	return s.c == nil || s.c == crowded || s.c.aside != nil && len(s.c.aside.denies) == len(s.c.list)
}

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

// AsSeenBy returns s, written by one principal, as another writes it: bare
// resources get the writer's DID, and the reader's own lose theirs. URIs keep
// their form.
func (s Set) AsSeenBy(reader, writer string) Set {
	list := s.list()
	if len(list) == 0 || reader == writer {
		return s.In(reader)
	}
	seen := make([]Capability, 0, len(list))
	for _, c := range list {
		if c.Resource().bare() {
			there, err := NewCapability(under(writer, c.With()), string(c.can))
			for with := c.Resource().text; err != nil && c.Denies() && with != ""; {
				// What contains it is denied there.
				with = with[:max(0, strings.LastIndexByte(with, '/'))]
				there, err = NewCapability(under(writer, with), string(c.can))
			}
			if err != nil {
				continue // too long to be written so: it is not held there
			}
			there.terms = c.terms
			c = there
		}
		seen = append(seen, c.in(reader))
		if c.Denies() && c.Resource().DID() == writer && c.Resource().Path() == "" {
			seen = append(seen, c.abroad(list)...)
		}
	}
	return Of(seen...)
}

// abroad returns what a denial of everything denies of a list that stays as it is in
// another's words: its URIs.
func (c Capability) abroad(list []Capability) (denied []Capability) {
	for _, d := range list {
		if r := d.Resource(); !r.bare() && r.DID() == "" {
			denied = append(denied, Capability{with: d.with, can: c.can, terms: c.terms})
		}
	}
	return denied
}

// under spells a bare resource with the DID of a principal.
func under(did, with string) string {
	if with == "" {
		return did
	}
	return did + "/" + with
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

// Declaration is a caps value as a person or an agent wrote it. It tells apart what
// [Set] does not: absent (the zero value), null, and a list. What an absent value
// means is for the reader to decide.
//
// After a decoding error it is present and holds the empty set, so that code
// which overlooks the error denies.
type Declaration struct {
	set     Set
	present bool
}

// Declare returns s as if it had been written; [Unrestricted] becomes null.
func Declare(s Set) Declaration { return Declaration{set: s, present: true} }

// Present reports whether anything was written, null included.
func (d Declaration) Present() bool { return d.present }

// IsZero reports that nothing was written (for omitzero).
func (d Declaration) IsZero() bool { return !d.present }

// IsNull reports whether null was written.
func (d Declaration) IsNull() bool { return d.present && d.set.IsUnrestricted() }

// Set returns the list that was written; false where it is absent or null.
func (d Declaration) Set() (Set, bool) {
	if !d.present || d.set.IsUnrestricted() {
		return Set{}, false
	}
	return d.set, true
}

// MarshalJSON writes the list, or null where it is null or absent. Tag a field
// omitzero to leave an absent one out.
func (d Declaration) MarshalJSON() ([]byte, error) {
	if !d.present {
		return []byte("null"), nil
	}
	return d.set.MarshalJSON()
}

// UnmarshalJSON reads null or a list, as [ParseSet] does.
func (d *Declaration) UnmarshalJSON(data []byte) error {
	*d = Declaration{present: true}
	return d.set.UnmarshalJSON(data)
}
