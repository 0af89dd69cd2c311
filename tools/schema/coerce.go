package schema

import (
	"encoding/json"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Coerce returns value in the form that the schema asks for: strings become
// numbers or booleans, numbers and booleans become strings, a scalar becomes
// an array of one, and fields that are missing take their default. What still
// does not fit is an error, as [Schema.Validate] gives it. A value that fits
// changes by its defaults alone. An empty value takes the schema's default.
func (s *Schema) Coerce(value json.RawMessage) (json.RawMessage, error) {
	var v any
	if len(value) == 0 {
		given := defaultOf(s.root, 0)
		if given == nil {
			value = json.RawMessage("null")
		} else {
			v = copyOf(*given)
		}
	}
	if len(value) > 0 {
		var err error
		if v, err = decode(value, maxValueDepth); err != nil {
			return nil, err
		}
	}
	c := coercion{meter: meter{maxSteps}}
	v, err := c.to(s.root, v, 0)
	if err != nil {
		return nil, err
	}
	if err := vet(v, maxValueDepth); err != nil {
		return nil, err
	}
	if err := s.validate(v); err != nil {
		return nil, err
	}
	return encode(v)
}

// coercion works under a meter of its own: a default may hold what asks for
// the same default again.
type coercion struct {
	meter meter
	depth int // of the value at hand
}

func (c *coercion) to(s *jsonschema.Schema, v any, chain int) (any, error) {
	if chain > maxChain {
		return nil, errCircular
	}
	if err := c.meter.spend(1); err != nil {
		return nil, err
	}
	var err error
	if s.Ref != nil {
		if v, err = c.to(s.Ref, v, chain+1); err != nil {
			return nil, err
		}
	}
	for _, sub := range s.AllOf {
		if v, err = c.to(sub, v, chain+1); err != nil {
			return nil, err
		}
	}
	if s.Types != nil {
		v = convert(v, s.Types.ToStrings())
	}
	for _, choice := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		if v, err = c.choose(choice, v, chain+1); err != nil {
			return nil, err
		}
	}
	switch v := v.(type) {
	case map[string]any:
		return c.object(s, v, chain)
	case []any:
		return c.array(s, v)
	}
	return v, nil
}

// choose coerces to the first alternative that fits as it is, else to the
// first that can be made to fit, else not at all.
func (c *coercion) choose(choice []*jsonschema.Schema, v any, chain int) (any, error) {
	for _, sub := range choice {
		fits, err := c.fits(sub, v)
		if err != nil {
			return nil, err
		}
		if fits {
			return c.to(sub, v, chain)
		}
	}
	for _, sub := range choice {
		if err := c.meter.weigh(v); err != nil {
			return nil, err
		}
		made, err := c.to(sub, copyOf(v), chain)
		if err != nil {
			return nil, err
		}
		fits, err := c.fits(sub, made)
		if err != nil {
			return nil, err
		}
		if fits {
			return made, nil
		}
	}
	return v, nil
}

func (c *coercion) fits(s *jsonschema.Schema, v any) (bool, error) {
	if err := c.meter.at(s, v, 0); err != nil {
		return false, err
	}
	return s.Validate(v) == nil, nil
}

func (c *coercion) object(s *jsonschema.Schema, v map[string]any, chain int) (any, error) {
	additional, _ := s.AdditionalProperties.(*jsonschema.Schema)
	for key, sub := range s.Properties {
		if _, given := v[key]; given {
			continue
		}
		if d := defaultOf(sub, chain); d != nil {
			if err := c.meter.weigh(*d); err != nil {
				return nil, err
			}
			v[key] = copyOf(*d)
		}
	}
	for key, item := range v {
		subs := []*jsonschema.Schema{s.Properties[key]}
		for re, sub := range s.PatternProperties {
			if err := c.meter.spend(matchCost(re, key)); err != nil {
				return nil, err
			}
			if re.MatchString(key) {
				subs = append(subs, sub)
			}
		}
		if len(subs) == 1 && subs[0] == nil {
			subs[0] = additional
		}
		made, err := c.all(item, subs)
		if err != nil {
			return nil, err
		}
		v[key] = made
	}
	return v, nil
}

func (c *coercion) array(s *jsonschema.Schema, v []any) (any, error) {
	tuple, rest := itemsOf(s)
	for i, item := range v {
		sub := rest
		if i < len(tuple) {
			sub = tuple[i]
		}
		made, err := c.all(item, []*jsonschema.Schema{sub})
		if err != nil {
			return nil, err
		}
		v[i] = made
	}
	return v, nil
}

func (c *coercion) all(v any, subs []*jsonschema.Schema) (any, error) {
	c.depth++
	defer func() { c.depth-- }()
	if c.depth > maxValueDepth {
		return nil, errTooDeep
	}
	for _, sub := range subs {
		if sub == nil {
			continue
		}
		var err error
		if v, err = c.to(sub, v, 0); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// defaultOf finds the default of a schema, its own or that of what it refers to.
func defaultOf(s *jsonschema.Schema, chain int) *any {
	if s.Default != nil || s.Ref == nil || chain > maxChain {
		return s.Default
	}
	return defaultOf(s.Ref, chain+1)
}
