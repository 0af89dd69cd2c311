package workspace

import (
	"errors"
	"fmt"
	"slices"

	"usher/caps/value"
	"usher/tools/fault"
)

// change is a write inside one decoded value.
type change struct {
	how  manner
	item any
}

// in makes the change at rest in v, which lies at a path, and the maps that are missing on the way;
// it reports whether there is anything afterwards. When it removes, an error says that there was
// nothing.
func (c change) in(v any, exists bool, at, rest []string) (made any, stays bool, err error) {
	if len(rest) == 0 || !exists {
		return c.here(v, exists, at, rest)
	}
	here, below := slices.Concat(at, rest[:1]), rest[1:]
	switch v := v.(type) {
	case map[string]any:
		old, ok := v[rest[0]]
		if made, stays, err = c.in(old, ok, here, below); err != nil {
			return nil, false, err
		}
		if v[rest[0]] = made; !stays {
			delete(v, rest[0])
		}
		return v, true, nil
	case []any:
		i, ok := value.Index(rest[0])
		if !ok || i >= len(v) || c.how == removes && v[i] == nil {
			return nil, false, indexError(at, rest[0], len(v))
		}
		if made, _, err = c.in(v[i], true, here, below); err != nil {
			return nil, false, err
		}
		v[i] = made
		return v, true, nil
	}
	return nil, false, &shapeError{at, &InTheWayError{join(at), typeOf(v)}}
}

// here makes the change at the end of its path, or where nothing is on the way to that.
func (c change) here(v any, exists bool, at, rest []string) (made any, stays bool, err error) {
	list, isList := v.([]any)
	switch {
	case c.how == removes && !exists:
		return nil, false, errors.New("there is nothing") // never leaves the package
	case c.how == removes:
		return nil, false, nil
	case c.how == adds && exists && !isList:
		return nil, false, appendError(at, typeOf(v))
	case c.how == adds:
		list = append(list, c.item)
		made = list
	default:
		made = c.item
	}
	for _, segment := range slices.Backward(rest) {
		made = map[string]any{segment: made}
	}
	return made, true, nil
}

func typeOf(v any) string { return leafOf(v).typeName() }

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

func appendError(at []string, typeName string) error {
	return &shapeError{at, fmt.Errorf("%s is a %s: only an array can be appended to", join(at), typeName)}
}
