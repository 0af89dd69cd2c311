package ucan

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"usher/caps/value"
)

// fields are those of a token in either format, or of a part of it. The first
// error sticks.
type fields struct {
	m   map[string]any
	err error
}

// jsonFields reads a JSON object strictly. encoding/json alone takes a key twice,
// takes "ISS" for "iss", and replaces what is not UTF-8: three ways to show two
// readers two different tokens under one signature. Numbers stay json.Number.
func jsonFields(data []byte) (*fields, error) {
	m, err := value.Object(data, maxNesting)
	switch {
	case errors.Is(err, value.ErrTooDeep):
		return nil, fmt.Errorf("%w: values are nested more than %d deep", ErrTooDeep, maxNesting)
	case err != nil:
		return nil, formatError("%w", err)
	}
	return &fields{m: m}, nil
}

func (f *fields) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

// exact refuses a key that another reader could take for one of known because it
// ignores case.
func (f *fields) exact(known ...string) {
	for key := range f.m {
		for _, k := range known {
			if key != k && strings.EqualFold(key, k) {
				f.fail(formatError("the key %s is spelt %q", quoteShort(key), k))
			}
		}
	}
}

// only also refuses every other key.
func (f *fields) only(known ...string) {
	f.exact(known...)
	for key := range f.m {
		if !slices.Contains(known, key) {
			f.fail(formatError("the key %s has no meaning here", quoteShort(key)))
		}
	}
}

// need refuses what lacks a key.
func (f *fields) need(keys ...string) {
	for _, key := range keys {
		if _, ok := f.m[key]; !ok {
			f.fail(formatError("%q is missing", key))
		}
	}
}

// field returns a field that is a T where it is there.
func field[T any](f *fields, key string) (v T, ok bool) {
	found, ok := f.m[key]
	if !ok {
		return v, false
	}
	if v, ok = found.(T); !ok {
		f.fail(formatError("%s is of another type than it has to be", key))
	}
	return v, ok
}

// seconds returns a time, 0 where there is none.
func (f *fields) seconds(key string) int64 {
	switch v := f.m[key].(type) {
	case nil:
		if _, null := f.m[key]; !null {
			return 0
		}
	case int64:
		if v >= 0 {
			return v
		}
	case json.Number:
		if n, err := v.Int64(); err == nil && n >= 0 && n <= maxInt53 {
			return n
		}
	}
	f.fail(formatError("%s is %v; write whole seconds since 1970", key, f.m[key]))
	return 0
}

// expiry is seconds for a field that may be null.
func (f *fields) expiry(key string) int64 {
	if v, ok := f.m[key]; ok && v == nil {
		return never
	}
	return f.seconds(key)
}

// principal returns a DID, and the key in it.
func (f *fields) principal(name string) (DID, ed25519.PublicKey) {
	text, ok := field[string](f, name)
	if !ok {
		return DID{}, nil
	}
	key, err := decodeDID(text)
	if err != nil {
		f.fail(formatError("%s: %w: %s: %w", name, errDID, quoteShort(text), err))
		return DID{}, nil
	}
	return DID{strings.Clone(text)}, key // the text may be a piece of a large token
}

// entries returns arguments or metadata. A null at its top says nothing that
// leaving the entry out does not, and other readers stumble over it, so it is
// refused.
func (f *fields) entries(name string) map[string]any {
	m, _ := field[map[string]any](f, name)
	for key, v := range m {
		if v == nil {
			f.fail(formatError("%s: %s is null; leave it out", name, quoteShort(key)))
		}
	}
	return m
}

// nonce returns one that is long enough.
func (f *fields) nonce() []byte {
	n, _ := field[[]byte](f, "nonce")
	if len(n) < minNonce {
		f.fail(formatError("the nonce has %d bytes; it needs %d", len(n), minNonce))
	}
	return n
}

// agentsKey is where a token names the agents that signed it with the issuer's
// key: in the metadata of a native one, in the facts of a JWT.
const agentsKey = "usher/agents"

// maxAgents bounds the agents that one token names.
const maxAgents = 64

// agents takes the agents from what a token says beside its capabilities.
func (f *fields) agents(facts any) []string {
	m, _ := facts.(map[string]any)
	v, ok := m[agentsKey]
	if !ok {
		return nil
	}
	list, _ := v.([]any)
	agents := make([]string, 0, len(list))
	for _, item := range list {
		if name, ok := item.(string); ok && name != "" {
			agents = append(agents, name)
		}
	}
	if len(agents) == 0 || len(agents) != len(list) || len(agents) > maxAgents {
		f.fail(formatError("%s is a list of 1 to %d names", agentsKey, maxAgents))
	}
	return agents
}
