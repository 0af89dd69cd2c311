package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"usher/caps/value"
)

// Infer returns a JSON Schema that a value fits: the fields of an object are all
// required, the items of an array are described by one schema together.
func Infer(raw json.RawMessage) (json.RawMessage, error) {
	v, err := value.Decode(raw, maxValueDepth)
	if err != nil {
		return nil, err
	}
	return value.Encode(shapeOf(v).document())
}

// shape is what is known of the values at one place.
type shape struct {
	kinds    map[string]bool
	fields   map[string]*shape // of all objects seen
	required map[string]bool   // in each object seen
	items    *shape            // of all arrays seen; nil when all were empty
}

func shapeOf(v any) *shape {
	s := &shape{kinds: map[string]bool{value.Kind(v): true}}
	switch v := v.(type) {
	case json.Number:
		if !strings.ContainsAny(v.String(), ".eE") {
			s.kinds = map[string]bool{"integer": true}
		}
	case []any:
		for _, item := range v {
			s.items = s.items.join(shapeOf(item))
		}
	case map[string]any:
		s.fields = make(map[string]*shape, len(v))
		s.required = make(map[string]bool, len(v))
		for key, item := range v {
			s.fields[key] = shapeOf(item)
			s.required[key] = true
		}
	}
	return s
}

// join returns the shape that covers both.
func (s *shape) join(t *shape) *shape {
	if s == nil {
		return t
	}
	if t == nil {
		return s
	}
	switch {
	case !s.kinds["object"]:
		s.fields, s.required = t.fields, t.required
	case t.kinds["object"]:
		for key, field := range t.fields {
			s.fields[key] = s.fields[key].join(field)
		}
		maps.DeleteFunc(s.required, func(key string, _ bool) bool { return !t.required[key] })
	}
	s.items = s.items.join(t.items)
	maps.Copy(s.kinds, t.kinds)
	if s.kinds["number"] {
		delete(s.kinds, "integer")
	}
	return s
}

func (s *shape) document() map[string]any {
	doc := map[string]any{}
	if kinds := slices.Sorted(maps.Keys(s.kinds)); len(kinds) == 1 {
		doc["type"] = kinds[0]
	} else {
		doc["type"] = kinds
	}
	if s.kinds["object"] {
		fields := make(map[string]any, len(s.fields))
		for key, field := range s.fields {
			fields[key] = field.document()
		}
		doc["properties"] = fields
		if len(s.required) > 0 {
			doc["required"] = slices.Sorted(maps.Keys(s.required))
		}
	}
	if s.items != nil {
		doc["items"] = s.items.document()
	}
	return doc
}
