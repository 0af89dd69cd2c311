package schema

import (
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// inPlace yields the schemas that apply to the same value as s.
func inPlace(s *jsonschema.Schema) func(yield func(*jsonschema.Schema) bool) {
	return func(yield func(*jsonschema.Schema) bool) {
		for _, sub := range []*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else} {
			if sub != nil && !yield(sub) {
				return
			}
		}
		for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
			for _, sub := range list {
				if !yield(sub) {
					return
				}
			}
		}
		for _, sub := range s.DependentSchemas {
			if !yield(sub) {
				return
			}
		}
		for _, dep := range s.Dependencies {
			if sub, ok := dep.(*jsonschema.Schema); ok && !yield(sub) {
				return
			}
		}
	}
}

// refuseDynamic refuses references whose target depends on the way that led to
// them: their work cannot be counted.
func refuseDynamic(root *jsonschema.Schema) error {
	seen := map[*jsonschema.Schema]bool{root: true}
	for todo := []*jsonschema.Schema{root}; len(todo) > 0; {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if s.DynamicRef != nil || s.RecursiveRef != nil {
			return fmt.Errorf("schema uses a dynamic reference at %s: write $ref instead", s.Location)
		}
		for _, sub := range parts(s) {
			if !seen[sub] {
				seen[sub] = true
				todo = append(todo, sub)
			}
		}
	}
	return nil
}

// parts lists every schema that s leads to directly.
func parts(s *jsonschema.Schema) []*jsonschema.Schema {
	var subs []*jsonschema.Schema
	add := func(sub *jsonschema.Schema) {
		if sub != nil {
			subs = append(subs, sub)
		}
	}
	for sub := range inPlace(s) {
		add(sub)
	}
	for _, sub := range s.Properties {
		add(sub)
	}
	for _, sub := range s.PatternProperties {
		add(sub)
	}
	for _, either := range []any{s.AdditionalProperties, s.AdditionalItems, s.Items} {
		if sub, ok := either.(*jsonschema.Schema); ok {
			add(sub)
		}
	}
	if tuple, ok := s.Items.([]*jsonschema.Schema); ok {
		subs = append(subs, tuple...)
	}
	subs = append(subs, s.PrefixItems...)
	for _, sub := range []*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems, s.ContentSchema} {
		add(sub)
	}
	return subs
}
