package caps

import (
	"fmt"
	"maps"
	"slices"

	"usher/caps/value"
)

// maxNesting is how deep a value may nest. Capabilities need two.
const maxNesting = 8

// ParseSet reads a set from JSON: null is unrestricted, [] is nothing, and a
// list holds {"with","can"} objects with exactly these keys. Anything else is an
// error, and the set that comes with it denies everything.
func ParseSet(data []byte) (Set, error) {
	v, err := value.Decode(data, maxNesting)
	if err != nil {
		return Set{}, value.Within("caps", err)
	}
	if v == nil {
		return Unrestricted(), nil
	}
	entries, ok := v.([]any)
	if !ok {
		return Set{}, fmt.Errorf("caps is %s: write a list of {with, can}, [] for nothing, or null for no restriction", value.A(v))
	}
	list := make([]Capability, len(entries))
	for i, entry := range entries {
		if list[i], err = toCapability(entry); err != nil {
			return Set{}, fmt.Errorf("caps[%d]: %w", i, err)
		}
	}
	return Of(list...), nil
}

// MarshalJSON writes null for an unrestricted set, [] for one that holds nothing,
// the zero value among them, and otherwise the list, in order and as it was
// written. [ParseSet] reads back a set that decides and prints alike.
func (s Set) MarshalJSON() ([]byte, error) {
	var list []wire // nil, and so null, for an unrestricted set only
	if !s.IsUnrestricted() {
		list = make([]wire, 0, s.Len())
	}
	for c := range s.All() {
		list = append(list, wire{c.with, c.can})
	}
	return value.Encode(list)
}

// UnmarshalJSON reads as [ParseSet] does. After an error s denies everything, and
// so does a field that the JSON leaves out.
func (s *Set) UnmarshalJSON(data []byte) (err error) {
	*s, err = ParseSet(data)
	return err
}

// wire is a capability as it is written.
type wire struct {
	With string  `json:"with"`
	Can  Ability `json:"can"`
}

// MarshalJSON writes {"with":…,"can":…}.
func (c Capability) MarshalJSON() ([]byte, error) { return value.Encode(wire{c.with, c.can}) }

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

func toCapability(v any) (Capability, error) {
	obj, ok := v.(map[string]any)
	if !ok {
		return Capability{}, fmt.Errorf(`a capability is {"with": …, "can": …}, not %s`, value.A(v))
	}
	for _, key := range slices.Sorted(maps.Keys(obj)) {
		if key != "with" && key != "can" {
			return Capability{}, fmt.Errorf(`unknown key %s: a capability has "with" and "can" only, in lower case`, value.Quote(key))
		}
	}
	with, err := stringField(obj, "with")
	if err != nil {
		return Capability{}, err
	}
	can, err := stringField(obj, "can")
	if err != nil {
		return Capability{}, err
	}
	return NewCapability(with, can)
}

func stringField(obj map[string]any, key string) (string, error) {
	v, ok := obj[key]
	if !ok {
		return "", fmt.Errorf(`%q is missing: write both "with" and "can"`, key)
	}
	text, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("%q is %s: write a string", key, value.A(v))
	}
	return text, nil
}
