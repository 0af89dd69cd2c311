package caps

import (
	"encoding/json"
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
	With string `json:"with" yaml:"with"`
	Can  string `json:"can" yaml:"can"`
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

// MarshalJSON writes null, [] or the list.
func (s Set) MarshalJSON() ([]byte, error) { return json.Marshal(wireList(s)) }

// UnmarshalJSON reads as [ParseSet] does. After an error s denies everything.
func (s *Set) UnmarshalJSON(data []byte) (err error) {
	*s, err = ParseSet(data)
	return err
}

// MarshalYAML returns null, [] or the list.
func (s Set) MarshalYAML() (any, error) { return yamlList(s), nil }

// yamlList is an untyped nil where s is unrestricted, which encodes as null.
func yamlList(s Set) any {
	if s.IsUnrestricted() {
		return nil
	}
	return wireList(s)
}

// UnmarshalYAML reads what [ParseSet] reads from JSON. After an error s denies
// everything.
func (s *Set) UnmarshalYAML(unmarshal func(any) error) (err error) {
	*s = Set{}
	var v any
	if err := unmarshal(&v); err != nil {
		return err
	}
	*s, err = toSet(v)
	return err
}

// MarshalJSON writes {"with":…,"can":…}.
func (c Capability) MarshalJSON() ([]byte, error) {
	return json.Marshal(wire{c.with, string(c.can)})
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

// MarshalYAML returns a mapping of with and can.
func (c Capability) MarshalYAML() (any, error) { return wire{c.with, string(c.can)}, nil }

// UnmarshalYAML reads a mapping of with and can, both of them and nothing else.
func (c *Capability) UnmarshalYAML(unmarshal func(any) error) (err error) {
	*c = Capability{}
	var v any
	if err := unmarshal(&v); err != nil {
		return err
	}
	*c, err = toCapability(v)
	return err
}
