package caps

import (
	"fmt"
	"maps"
	"slices"

	"usher/caps/value"
)

// maxNesting is how deep a value may nest. Capabilities need two.
const maxNesting = 8

// toSet makes a set of a decoded value: null, or a list of {with, can}. Every
// other value is an error.
func toSet(v any) (Set, error) {
	if v == nil {
		return Unrestricted(), nil
	}
	entries, ok := v.([]any)
	if !ok {
		return Set{}, fmt.Errorf("caps is %s: write a list of {with, can}, [] for nothing, or null for no restriction", value.A(v))
	}
	list := make([]Capability, len(entries))
	for i, entry := range entries {
		c, err := toCapability(entry)
		if err != nil {
			return Set{}, fmt.Errorf("caps[%d]: %w", i, err)
		}
		list[i] = c
	}
	return Of(list...), nil
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
