package schema

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"usher/caps/value"
)

// Infer returns a JSON Schema that a value fits: the fields of an object are all
// required, the items of an array are described by one schema together. charge is
// asked as it is in [Schema.Validate]; each place that is described is a step.
func Infer(ctx context.Context, raw json.RawMessage, charge Charge) (json.RawMessage, error) {
	v, err := value.Decode(raw, maxValueDepth)
	if err != nil {
		return nil, err
	}
	s, by := new(shape), &inference{ctx: ctx, charge: charge}
	if s.add(v, by); by.err != nil {
		return nil, by.err
	}
	return value.Encode(s.document())
}

// shape is what is known of the values at one place.
type shape struct {
	kinds  map[string]int    // how many of each there are
	fields map[string]*shape // of all objects
	items  *shape            // of all arrays; nil when all are empty
	values int
}

// inference counts the work of one call.
type inference struct {
	ctx    context.Context
	charge Charge
	spent  int
	err    error
}

// spend counts values that are looked at; a place that is described is as many as a unit.
func (by *inference) spend(values int) bool {
	before := by.spent / unit
	by.spent += values
	if steps := by.spent/unit - before; by.err == nil && steps > 0 {
		by.err = pay(by.ctx, by.charge, steps, 0)
	}
	return by.err == nil
}

func (s *shape) add(v any, by *inference) {
	if !by.spend(1) {
		return
	}
	kind := value.Kind(v)
	switch v := v.(type) {
	case json.Number:
		if !strings.ContainsAny(v.String(), ".eE") {
			kind = "integer"
		}
	case []any:
		for _, item := range v {
			if s.items == nil {
				s.items = new(shape)
				by.spend(unit)
			}
			s.items.add(item, by)
		}
	case map[string]any:
		for key, item := range v {
			if s.fields[key] == nil {
				if s.fields == nil {
					s.fields = make(map[string]*shape)
				}
				s.fields[key] = new(shape)
				by.spend(unit)
			}
			s.fields[key].add(item, by)
		}
	}
	if s.kinds == nil {
		s.kinds = make(map[string]int)
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
