package ucan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// jsonObject reads a JSON object strictly. encoding/json alone takes a key twice,
// takes "ISS" for "iss", and replaces what is not UTF-8: three ways to show two
// readers two different tokens under one signature. Numbers stay json.Number.
func jsonObject(data []byte) (map[string]any, error) {
	if !utf8.Valid(data) {
		return nil, malformed("the JSON is not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	v, err := jsonValue(dec, maxNesting)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, malformed("something follows the JSON object")
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, malformed("the JSON is not an object")
	}
	return m, nil
}

func jsonValue(dec *json.Decoder, depth int) (any, error) {
	if depth == 0 {
		return nil, fmt.Errorf("%w: values are nested more than %d deep", ErrTooDeep, maxNesting)
	}
	tok, err := dec.Token()
	if err != nil {
		return nil, malformed("JSON: %w", err)
	}
	switch tok {
	case json.Delim('{'):
		m := map[string]any{}
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return nil, malformed("JSON: %w", err)
			}
			name := key.(string) // the decoder gives nothing else before a colon
			if _, twice := m[name]; twice {
				return nil, malformed("the JSON key %s stands twice", quoteShort(name))
			}
			if m[name], err = jsonValue(dec, depth-1); err != nil {
				return nil, err
			}
		}
		_, err = dec.Token()
		if err != nil {
			return nil, malformed("JSON: %w", err)
		}
		return m, nil
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, err := jsonValue(dec, depth-1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = dec.Token()
		if err != nil {
			return nil, malformed("JSON: %w", err)
		}
		return list, nil
	}
	return tok, nil
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
