package caps

import (
	"errors"
	"fmt"

	"usher/caps/value"
)

// ParseSet reads a set from JSON: null is unrestricted, [] is nothing, and a
// list holds {"with","can"} objects with exactly these keys. Anything else is an
// error, and the set that comes with it denies everything.
func ParseSet(data []byte) (Set, error) {
	v, err := value.Decode(data, maxNesting)
	if err != nil {
		return Set{}, prefixed(err)
	}
	return toSet(v)
}

// prefixed puts the name of the list before the place of an error.
func prefixed(err error) error {
	if e, ok := errors.AsType[*value.Error](err); ok {
		return &value.Error{At: "caps" + e.At, Err: e.Err}
	}
	return err
}

// wire is a capability as it is written.
type wire struct {
	With string `json:"with"`
	Can  string `json:"can"`
}

// wireList is nil, and so null, for an unrestricted set only.
func wireList(s Set) []wire {
	if s.IsUnrestricted() {
		return nil
	}
	list := make([]wire, 0, s.Len())
	for c := range s.All() {
		list = append(list, wire{c.with, string(c.can)})
	}
	return list
}

// MarshalJSON writes null for an unrestricted set, [] for one that holds nothing,
// the zero value among them, and otherwise the list, in order and as it was
// written. [ParseSet] reads back a set that decides and prints alike.
func (s Set) MarshalJSON() ([]byte, error) { return value.Encode(wireList(s)) }

// UnmarshalJSON reads as [ParseSet] does. After an error s denies everything, and
// so does a field that the JSON leaves out.
func (s *Set) UnmarshalJSON(data []byte) (err error) {
	*s, err = ParseSet(data)
	return err
}

// MarshalJSON writes {"with":…,"can":…}.
func (c Capability) MarshalJSON() ([]byte, error) {
	return value.Encode(wire{c.with, string(c.can)})
}

// UnmarshalJSON reads {"with":…,"can":…}, both of them and nothing else.
func (c *Capability) UnmarshalJSON(data []byte) error {
	*c = Capability{}
	v, err := value.Decode(data, maxNesting)
	if err != nil {
		return fmt.Errorf("capability: %w", err)
	}
	*c, err = toCapability(v)
	return err
}
