package ucan

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"usher/caps/value"
)

// jsonObject reads a JSON object strictly. encoding/json alone takes a key twice,
// takes "ISS" for "iss", and replaces what is not UTF-8: three ways to show two
// readers two different tokens under one signature. Numbers stay json.Number.
func jsonObject(data []byte) (map[string]any, error) {
	m, err := value.Object(data, maxNesting)
	switch {
	case errors.Is(err, value.ErrTooDeep):
		return nil, fmt.Errorf("%w: values are nested more than %d deep", ErrTooDeep, maxNesting)
	case err != nil:
		return nil, malformed("%w", err)
	}
	return m, nil
}

// exactKeys refuses a key that another reader could take for one of known
// because it ignores case.
func exactKeys(m map[string]any, known ...string) error {
	for key := range m {
		for _, k := range known {
			if key != k && strings.EqualFold(key, k) {
				return malformed("the key %s is spelt %q", quoteShort(key), k)
			}
		}
	}
	return nil
}

// onlyKeys also refuses every other key.
func onlyKeys(m map[string]any, known ...string) error {
	if err := exactKeys(m, known...); err != nil {
		return err
	}
next:
	for key := range m {
		for _, k := range known {
			if key == k {
				continue next
			}
		}
		return malformed("the key %s has no meaning here", quoteShort(key))
	}
	return nil
}

// jsonText returns a field that must be text; ok is false where it is absent.
func jsonText(m map[string]any, key string) (s string, ok bool, err error) {
	v, ok := m[key]
	if !ok {
		return "", false, nil
	}
	s, isText := v.(string)
	if !isText {
		return "", true, malformed("%s is not a text", key)
	}
	return s, true, nil
}

// jsonSeconds returns a field that must be a whole number of seconds.
func jsonSeconds(m map[string]any, key string) (n int64, ok bool, err error) {
	v, ok := m[key]
	if !ok {
		return 0, false, nil
	}
	num, isNumber := v.(json.Number)
	if !isNumber {
		return 0, true, malformed("%s is not a number", key)
	}
	n, err = num.Int64()
	if err != nil || n < 0 || n > maxInt53 {
		return 0, true, malformed("%s is %s; write whole seconds since 1970", key, num)
	}
	return n, true, nil
}
