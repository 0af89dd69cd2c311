package schema

import (
	"cmp"
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
	kinds    []string
	fields   map[string]*shape // of all objects seen
	required map[string]bool   // in each object seen
	items    *shape            // of all arrays seen; nil when all were empty
}

func shapeOf(v any) *shape {
	s := &shape{kinds: []string{value.Kind(v)}}
	switch v := v.(type) {
	case json.Number:
		if !strings.ContainsAny(v.String(), ".eE") {
			s.kinds[0] = "integer"
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

func (s *shape) is(kind string) bool { return slices.Contains(s.kinds, kind) }

// join returns the shape that covers both.
func (s *shape) join(t *shape) *shape {
	if s == nil || t == nil {
		return cmp.Or(s, t)
	}
	switch {
	case !s.is("object"):
		s.fields, s.required = t.fields, t.required
	case t.is("object"):
		for key, field := range t.fields {
			s.fields[key] = s.fields[key].join(field)
		}
		maps.DeleteFunc(s.required, func(key string, _ bool) bool { return !t.required[key] })
	}
	s.items = s.items.join(t.items)
	for _, kind := range t.kinds {
		if !s.is(kind) {
			s.kinds = append(s.kinds, kind)
		}
	}
	if s.is("number") {
		s.kinds = slices.DeleteFunc(s.kinds, func(kind string) bool { return kind == "integer" })
	}
	return s
}

func (s *shape) document() map[string]any {
	slices.Sort(s.kinds)
	doc := map[string]any{"type": s.kinds}
	if len(s.kinds) == 1 {
		doc["type"] = s.kinds[0]
	}
	if s.fields != nil {
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
