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
	s := newShape()
	s.add(v)
	return value.Encode(s.document())
}

// shape is what is known of the values at one place.
type shape struct {
	kinds  map[string]int    // how many of each there are
	fields map[string]*shape // of all objects
	items  *shape            // of all arrays; nil when all are empty
	values int
}

func newShape() *shape { return &shape{kinds: make(map[string]int), fields: make(map[string]*shape)} }

func (s *shape) add(v any) {
	kind := value.Kind(v)
	switch v := v.(type) {
	case json.Number:
		if !strings.ContainsAny(v.String(), ".eE") {
			kind = "integer"
		}
	case []any:
		for _, item := range v {
			if s.items == nil {
				s.items = newShape()
			}
			s.items.add(item)
		}
	case map[string]any:
		for key, item := range v {
			if s.fields[key] == nil {
				s.fields[key] = newShape()
			}
			s.fields[key].add(item)
		}
	}
	s.kinds[kind]++
	s.values++
}

func (s *shape) document() map[string]any {
	if s.kinds["number"] > 0 {
		delete(s.kinds, "integer")
	}
	kinds := slices.Sorted(maps.Keys(s.kinds))
	doc := map[string]any{"type": kinds}
	if len(kinds) == 1 {
		doc["type"] = kinds[0]
	}
	if objects := s.kinds["object"]; objects > 0 {
		fields, required := make(map[string]any, len(s.fields)), []string(nil)
		for _, key := range slices.Sorted(maps.Keys(s.fields)) {
			fields[key] = s.fields[key].document()
			if s.fields[key].values == objects {
				required = append(required, key)
			}
		}
		if doc["properties"] = fields; required != nil {
			doc["required"] = required
		}
	}
	if s.items != nil {
		doc["items"] = s.items.document()
	}
	return doc
}
