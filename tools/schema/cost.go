package schema

import (
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxSteps bounds the work of one validation. References let a schema of a few
// lines ask for 2^100 checks, and the validator cannot be stopped once it runs,
// so the work is counted before.
const maxSteps = 1_000_000

// maxChain bounds the schemas that apply to one and the same value in a row.
const maxChain = 256

var (
	errTooCostly = errors.New("checking this value against this schema would take too long: make either simpler")
	errCircular  = errors.New("schema refers to itself without an end at the same value: let the reference be below properties or items")
)

// affordable counts, without evaluating anything, at most as many steps as the
// validator could take.
func affordable(s *jsonschema.Schema, v any) error {
	m := meter{maxSteps}
	return m.at(s, v, 0)
}

type meter struct{ left int }

func (m *meter) spend(steps int) error {
	if m.left -= steps; m.left < 0 {
		return errTooCostly
	}
	return nil
}

func (m *meter) at(s *jsonschema.Schema, v any, chain int) error {
	if chain > maxChain {
		return errCircular
	}
	if err := m.spend(1); err != nil {
		return err
	}
	if err := m.comparisons(s, v); err != nil {
		return err
	}
	for sub := range inPlace(s) {
		if err := m.at(sub, v, chain+1); err != nil {
			return err
		}
	}
	switch v := v.(type) {
	case map[string]any:
		return m.object(s, v)
	case []any:
		return m.array(s, v)
	case string:
		if s.Pattern != nil {
			return m.spend(matchCost(s.Pattern, v))
		}
	}
	return nil
}

// comparisons counts what is compared as a whole.
func (m *meter) comparisons(s *jsonschema.Schema, v any) error {
	if s.Enum != nil {
		if err := m.weigh(s.Enum.Values); err != nil {
			return err
		}
	}
	if s.Const != nil {
		if err := m.weigh(*s.Const); err != nil {
			return err
		}
	}
	if s.UniqueItems {
		return m.weigh(v)
	}
	return nil
}

func (m *meter) weigh(v any) error {
	if err := m.spend(1); err != nil {
		return err
	}
	switch v := v.(type) {
	case map[string]any:
		for _, item := range v {
			if err := m.weigh(item); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range v {
			if err := m.weigh(item); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *meter) object(s *jsonschema.Schema, v map[string]any) error {
	named := len(s.Required)
	for _, names := range s.DependentRequired {
		named += len(names)
	}
	if err := m.spend(named); err != nil {
		return err
	}
	additional, _ := s.AdditionalProperties.(*jsonschema.Schema)
	for key, item := range v {
		if err := m.all(key, s.PropertyNames); err != nil {
			return err
		}
		property, evaluated := s.Properties[key]
		if err := m.all(item, property); err != nil {
			return err
		}
		for re, sub := range s.PatternProperties {
			if err := m.spend(matchCost(re, key)); err != nil {
				return err
			}
			if re.MatchString(key) {
				evaluated = true
				if err := m.at(sub, item, 0); err != nil {
					return err
				}
			}
		}
		if evaluated {
			continue
		}
		if err := m.all(item, additional, s.UnevaluatedProperties); err != nil {
			return err
		}
	}
	return nil
}

func (m *meter) array(s *jsonschema.Schema, v []any) error {
	tuple, rest := itemsOf(s)
	for i, item := range v {
		var err error
		if i < len(tuple) {
			err = m.all(item, tuple[i], s.Contains)
		} else {
			err = m.all(item, rest, s.Contains, s.UnevaluatedItems)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// itemsOf returns the schemas of the first items and that of all others, which
// the drafts spell in different ways.
func itemsOf(s *jsonschema.Schema) (tuple []*jsonschema.Schema, rest *jsonschema.Schema) {
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		return nil, items
	case []*jsonschema.Schema:
		rest, _ = s.AdditionalItems.(*jsonschema.Schema)
		return items, rest
	}
	if rest = s.Items2020; rest == nil {
		// The validator applies it without items too.
		rest, _ = s.AdditionalItems.(*jsonschema.Schema)
	}
	return s.PrefixItems, rest
}

func (m *meter) all(v any, subs ...*jsonschema.Schema) error {
	for _, sub := range subs {
		if sub == nil {
			continue
		}
		if err := m.at(sub, v, 0); err != nil {
			return err
		}
	}
	return nil
}
