package caps

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"usher/caps/value"
)

// How deep values may nest: a path, and capabilities with the values of their
// limits.
const (
	maxNesting    = 8
	maxSetNesting = 16
)

// ParseSet reads a set from JSON: null is unrestricted, [] is nothing, and a
// list holds {"with","can"} objects with these keys, and those of [Terms] where it has
// any: ask, when, until, deny. Anything else is an error, and the set that comes with
// it denies everything.
func ParseSet(data []byte) (Set, error) {
	v, err := value.Decode(data, maxSetNesting)
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
		list = append(list, c.wire())
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
	With  string          `json:"with"`
	Can   Ability         `json:"can"`
	Ask   bool            `json:"ask,omitempty"`
	When  json.RawMessage `json:"when,omitempty"`
	Until string          `json:"until,omitempty"`
	Deny  bool            `json:"deny,omitempty"`
}

func (c Capability) wire() wire {
	w := wire{With: c.with, Can: c.can, Ask: c.Asks(), Deny: c.Denies()}
	if until := c.Until(); !until.IsZero() {
		w.Until = until.Format(time.RFC3339)
	}
	if when := c.When(); len(when) > 0 {
		w.When = whenJSON(when)
	}
	return w
}

// MarshalJSON writes {"with":…,"can":…}, and the terms where there are any.
func (c Capability) MarshalJSON() ([]byte, error) { return value.Encode(c.wire()) }

// UnmarshalJSON reads {"with":…,"can":…} and terms, and nothing else.
func (c *Capability) UnmarshalJSON(data []byte) error {
	*c = Capability{}
	v, err := value.Decode(data, maxSetNesting)
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
	var t terms
	var err error
	for _, key := range slices.Sorted(maps.Keys(obj)) {
		switch field := obj[key]; key {
		case "with", "can":
		case "ask":
			t.ask, err = mark(key, field)
		case "deny":
			t.deny, err = mark(key, field)
		case "until":
			t.until, err = parseUntil(field)
		case "when":
			if t.when, err = parseWhen(field); err != nil {
				err = fmt.Errorf("when: %w", err)
			}
		default:
			err = fmt.Errorf(`unknown key %s: a capability has "with" and "can", in lower case, and may have "ask", "when", "until" and "deny"`, value.Quote(key))
		}
		if err != nil {
			return Capability{}, err
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
	c, err := NewCapability(with, can)
	if err == nil {
		err = t.check()
	}
	if err != nil {
		return Capability{}, err
	}
	c.terms = t.seal()
	return c, nil
}

func mark(key string, v any) (bool, error) {
	is, ok := v.(bool)
	if !ok {
		return false, fmt.Errorf("%s is %s: write true, or leave it out", key, value.A(v))
	}
	return is, nil
}

func parseUntil(v any) (time.Time, error) {
	text, ok := v.(string)
	if !ok {
		return time.Time{}, fmt.Errorf("until is %s: write a time such as 2026-12-31T18:00:00Z", value.A(v))
	}
	return ParseUntil(text)
}

// ParseUntil reads the end of a capability: a time of RFC 3339 in whole seconds.
func ParseUntil(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if y := t.UTC().Year(); err != nil || t.IsZero() || t.Nanosecond() != 0 || y < 1 || y > 9999 {
		return time.Time{}, fmt.Errorf("until %s is no time of RFC 3339 in whole seconds: write 2026-12-31T18:00:00Z", value.Quote(text))
	}
	return t.UTC(), nil
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
