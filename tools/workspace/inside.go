package workspace

import (
	"fmt"
	"slices"

	"usher/caps/value"
	"usher/tools/fault"
)

// The functions here follow a path inside one decoded value. at is the path of the value itself,
// for messages.

// wrap puts item into new maps, one for each segment.
func wrap(rest []string, item any) any {
	for i := len(rest) - 1; i >= 0; i-- {
		item = map[string]any{rest[i]: item}
	}
	return item
}

// modify replaces what lies at rest in v by what change makes of it, and returns v. change is told
// whether there is anything; maps that are missing on the way are made.
func modify(v any, at, rest []string, change func(old any, exists bool) (any, error)) (any, error) {
	if len(rest) == 0 {
		return change(v, true)
	}
	here, below := slices.Concat(at, rest[:1]), rest[1:]
	switch c := v.(type) {
	case map[string]any:
		next, ok := c[rest[0]]
		next, err := modifyOrMake(next, ok, here, below, change)
		if err != nil {
			return nil, err
		}
		c[rest[0]] = next
		return c, nil
	case []any:
		i, ok := value.Index(rest[0])
		if !ok || i >= len(c) {
			return nil, indexError(at, rest[0], len(c))
		}
		next, err := modify(c[i], here, below, change)
		if err != nil {
			return nil, err
		}
		c[i] = next
		return c, nil
	default:
		return nil, throughError(at, typeOf(v))
	}
}

func modifyOrMake(v any, exists bool, at, rest []string, change func(any, bool) (any, error)) (any, error) {
	if exists {
		return modify(v, at, rest, change)
	}
	made, err := change(nil, false)
	if err != nil {
		return nil, err
	}
	return wrap(rest, made), nil
}

// remove deletes what lies at rest in v; in an array it leaves null. It reports whether there was
// anything to change.
func remove(v any, rest []string) bool {
	last := len(rest) - 1
	parent, ok := value.At(v, rest[:last]...)
	if !ok {
		return false
	}
	switch c := parent.(type) {
	case map[string]any:
		_, ok := c[rest[last]]
		delete(c, rest[last])
		return ok
	case []any:
		i, ok := value.Index(rest[last])
		if !ok || i >= len(c) || c[i] == nil {
			return false
		}
		c[i] = nil
		return true
	}
	return false
}

func typeOf(v any) string { return node{kind: leafKind, leaf: value.Append(nil, v)}.typeName() }

// arrayOn returns how many segments of rest lead to the first array that it goes through: -1 for
// none.
func arrayOn(v any, rest []string) int {
	for i := range rest {
		at, _ := value.At(v, rest[:i]...)
		if _, is := at.([]any); is {
			return i
		}
	}
	return -1
}

// shapeError is an error that says what lies at a path.
type shapeError struct {
	at  []string
	err error
}

func (e *shapeError) Error() string { return e.err.Error() }
func (e *shapeError) Unwrap() error { return e.err }

// InTheWayError says that a path goes on below something that has nothing below it.
type InTheWayError struct {
	At   string // path of what is in the way
	Type string // of it
}

func (e *InTheWayError) Error() string {
	return fmt.Sprintf("%s is a %s, so nothing can be written below it: write a map there first, or use another path", e.At, e.Type)
}

// Code is [fault.InTheWay].
func (e *InTheWayError) Code() fault.Code { return fault.InTheWay }

func throughError(at []string, typeName string) error {
	return &shapeError{at, &InTheWayError{join(at), typeName}}
}

// indexError says why segment names no element of the array at a path.
func indexError(at []string, segment string, length int) error {
	i, ok := value.Index(segment)
	err := fmt.Errorf("%s is an array of length %d: name an element by its index, not %q", join(at), length, segment)
	switch {
	case ok && i == length:
		err = fmt.Errorf("%s/%s is just behind the end of the array: use covia:append on %s to add an element", join(at), segment, join(at))
	case ok:
		err = fmt.Errorf("%s/%s is out of bounds: the array has length %d", join(at), segment, length)
	}
	return &shapeError{at, err}
}

// appendTo is the change that adds item to an array, or makes one.
func appendTo(at []string, item any) func(any, bool) (any, error) {
	return func(old any, exists bool) (any, error) {
		if !exists {
			return []any{item}, nil
		}
		list, ok := old.([]any)
		if !ok {
			return nil, appendError(at, typeOf(old))
		}
		return append(list, item), nil
	}
}

func appendError(at []string, typeName string) error {
	return &shapeError{at, fmt.Errorf("%s is a %s: only an array can be appended to", join(at), typeName)}
}
