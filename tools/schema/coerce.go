package schema

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"usher/caps/value"
)

// Coerce returns a value in the form that the schema asks for: strings become
// numbers or booleans, numbers and booleans become strings, a scalar becomes
// an array of one, and fields that are missing take their default. What still
// does not fit is an error, as [Schema.Validate] gives it. A value that fits
// changes by its defaults alone. An empty value takes the schema's default.
func (s *Schema) Coerce(ctx context.Context, raw json.RawMessage, charge Charge) (json.RawMessage, error) {
	c := coercion{judge: newJudge(ctx, charge)}
	var v any
	if len(raw) > 0 {
		var err error
		if v, err = value.Decode(raw, maxCoerced); err != nil {
			return nil, err
		}
	} else {
		d, _ := defaultOf(s.root, 0)
		v = copyOf(d)
	}
	v = c.to(s.root, v, 0)
	if c.err != nil {
		return nil, c.err
	}
	if err := newJudge(ctx, charge).judge(s.root, v); err != nil {
		return nil, err
	}
	return value.Append(nil, v), nil
}

// maxCoerced is how deep a value nests that is coerced.
const maxCoerced = 256

var errTooDeep = errors.New("it is nested too deeply: make it flatter")

// coercion changes a value step by step, as a judge goes through it. It counts
// its work as it goes: a default may hold what asks for the same default again.
type coercion struct {
	*judge
	depth int // of the value at hand
}

func (c *coercion) to(p *part, v any, chain int) any {
	if chain > maxChain && c.err == nil {
		c.err = errCircular
	}
	if !c.spend(1) {
		return v
	}
	for _, sub := range p.all {
		v = c.to(sub, v, chain+1)
	}
	if p.types != nil {
		v = convert(v, p.types)
	}
	v = c.choose(p.lists["oneOf"], c.choose(p.lists["anyOf"], v, chain+1), chain+1)
	switch v := v.(type) {
	case map[string]any:
		c.fields(p, v, chain)
	case []any:
		c.pass(len(v))
		for i, item := range v {
			v[i] = c.inside(p.item(i), item)
		}
	}
	return v
}

// choose coerces to the first alternative that fits as it is, else to the
// first that can be made to fit, else not at all.
func (c *coercion) choose(choice []*part, v any, chain int) any {
	for _, sub := range choice {
		if c.fits(sub, v, chain, nil) {
			return c.to(sub, v, chain)
		}
	}
	for _, sub := range choice {
		if !c.weigh(v) {
			return v
		}
		if made := c.to(sub, copyOf(v), chain); c.fits(sub, made, chain, nil) {
			return made
		}
	}
	return v
}

func (c *coercion) fields(p *part, v map[string]any, chain int) {
	c.pass(len(v) + len(p.named["properties"]))
	for key, sub := range p.named["properties"] {
		if _, given := v[key]; given {
			continue
		}
		if d, ok := defaultOf(sub, chain); ok && c.weigh(d) {
			v[key] = copyOf(d)
		}
	}
	for key := range v {
		c.parts(p, key, func(sub *part) { v[key] = c.inside(sub, v[key]) })
	}
}

// inside coerces a part of the value at hand.
func (c *coercion) inside(p *part, v any) any {
	if p == nil {
		return v
	}
	if c.depth++; c.depth > maxCoerced && c.err == nil {
		c.err = errTooDeep
	}
	v = c.to(p, v, 0)
	c.depth--
	return v
}

// defaultOf finds the default of a schema, its own or that of what it refers to.
func defaultOf(p *part, chain int) (v any, ok bool) {
	if v, ok = p.raw["default"]; ok || !p.refs || chain > maxChain {
		return v, ok
	}
	return defaultOf(p.all[0], chain+1)
}

// convert makes v one of the wanted types, if it is none of them and can be.
func convert(v any, want []string) any {
	has := func(kind string) bool {
		return slices.Contains(want, kind) || kind == "number" && slices.Contains(want, "integer")
	}
	if has(value.Kind(v)) {
		return v
	}
	switch text := v.(type) {
	case map[string]any, []any, nil:
		return v
	case string:
		text = strings.TrimSpace(text)
		made, err := value.Decode([]byte(text), 0)
		if kind := value.Kind(made); err == nil && has(kind) && (kind == "boolean" || kind == "number" && vetNumber(text) == nil) {
			return made
		}
	default:
		if has("string") {
			return string(value.Append(nil, v))
		}
	}
	if has("array") {
		return []any{v}
	}
	return v
}

func copyOf(v any) any {
	made, _ := value.Decode(value.Append(nil, v), maxValueDepth) // it was decoded before
	return made
}
