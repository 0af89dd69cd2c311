package caps

import (
	"encoding/json"
	"strings"

	"usher/caps/value"
)

// truth says whether a limit holds. What cannot be told of an input is unknown: a
// capability then does not allow, and a denial stands.
type truth int8

const (
	no truth = iota
	unknown
	yes
)

// not swaps yes and no.
func (t truth) not() truth { return yes - t }

// hold says whether all of the limits do, of an input that [value.Decode] read.
func hold(list []Limit, input any) truth {
	all := yes
	for i := range list {
		all = min(all, list[i].holds(input))
	}
	return all
}

func (l *Limit) holds(input any) truth {
	v, ok := l.find(input)
	if !ok {
		return unknown
	}
	return l.admits(v)
}

// maxKeys bounds the objects that are looked through for a pointer; operations take as
// many fields.
const maxKeys = 1000

// find returns the value at the pointer. A key that another spelling stands beside,
// in upper or lower case, is not found: an operation that decodes into fields could
// read that one.
func (l *Limit) find(v any) (any, bool) {
	for _, segment := range l.At {
		if object, ok := v.(map[string]any); ok && (len(object) > maxKeys || hasTwin(object, segment)) {
			return nil, false
		}
		var ok bool
		if v, ok = value.At(v, segment); !ok {
			return nil, false
		}
	}
	return v, true
}

// hasTwin reports whether an object has a key that differs from this one by case
// alone.
func hasTwin(object map[string]any, key string) bool {
	for other := range object {
		if other != key && strings.EqualFold(other, key) {
			return true
		}
	}
	return false
}

// admits says whether the value is within the bounds.
func (l *Limit) admits(v any) truth {
	all := yes
	if l.Max != "" {
		all = min(all, atMost(v, l.Max))
	}
	if l.Min != "" {
		all = min(all, atMost(l.Min, v))
	}
	if l.In != nil {
		all = min(all, among(l.In, v))
	}
	if l.NotIn != nil {
		all = min(all, among(l.NotIn, v).not())
	}
	return all
}

// atMost compares exactly. Where only the fraction makes a number too large, a
// reader with floating point could see it within: that is unknown.
func atMost(a, b any) truth {
	x, okX := a.(json.Number)
	y, okY := b.(json.Number)
	if !okX || !okY {
		return unknown
	}
	c, ok := value.Compare(x, y)
	switch {
	case !ok:
		return unknown
	case c <= 0:
		return yes
	}
	return apart(x, y)
}

// apart is no for two numbers that differ to every reader.
func apart(x, y json.Number) truth {
	if value.IsInteger(x) && value.IsInteger(y) || !value.RoundAlike(x, y) {
		return no
	}
	return unknown
}

// among says whether v is one of the list. It is no where the list has another
// value of v's type, and all of these differ: of another type it could mean the
// same to an operation that takes both.
func among(list []any, v any) truth {
	kind, found := value.Kind(v), false
	all := no
	for _, item := range list {
		if value.Kind(item) == kind {
			found = true
			all = max(all, same(item, v))
		}
	}
	if !found {
		return unknown
	}
	return all
}

// same says whether two values are equal, of which v is the input's: numbers by
// value, objects whatever the order of their keys.
func same(want, v any) truth {
	switch want := want.(type) {
	case json.Number:
		n, ok := v.(json.Number)
		if !ok {
			return unknown
		}
		switch c, ok := value.Compare(want, n); {
		case !ok:
			return unknown
		case c == 0:
			return yes
		}
		return apart(want, n)
	case []any:
		list, ok := v.([]any)
		if !ok {
			return unknown
		}
		if len(list) != len(want) {
			return no
		}
		all := yes
		for i := range want {
			all = min(all, same(want[i], list[i]))
		}
		return all
	case map[string]any:
		object, ok := v.(map[string]any)
		if !ok {
			return unknown
		}
		return sameObject(want, object)
	}
	switch {
	case value.Kind(want) != value.Kind(v):
		return unknown
	case want == v:
		return yes
	}
	return no
}

// sameObject is unknown where one has a key that the other lacks: to many readers
// what is left out has a value, too.
func sameObject(want, v map[string]any) truth {
	if len(want) != len(v) {
		return unknown
	}
	all := yes
	for key, item := range want {
		other, ok := v[key]
		if !ok || hasTwin(v, key) {
			return unknown
		}
		all = min(all, same(item, other))
	}
	return all
}
