package schema

import (
	"encoding/json"
	"maps"
	"math/big"
	"net/url"
	"slices"
	"strconv"

	"usher/caps/value"
)

// part is one schema of a document, ready to be applied.
type part struct {
	never bool           // false as a schema
	raw   map[string]any // its keywords
	types []string
	rules []string // the keywords that [judge.rule] knows

	all      []*part // which apply to the same value: $ref first, then allOf
	refs     bool    // the first of all is a $ref
	subs     map[string]*part
	lists    map[string][]*part
	named    map[string]map[string]*part
	first    []*part             // of items by place
	items    *part               // of those behind
	numbers  map[string]*big.Rat // of the keywords that are numbers
	counts   map[string]int      // the same as numbers of things
	values   map[string]values
	pattern  *pattern
	patterns map[*pattern]*part // of properties
}

// values are those of an enum or a const.
type values struct {
	words string
	keys  map[string]bool
}

// holders are the keywords that hold schemas, and how: one, a list, or some by name.
var holders = map[string]string{
	"not": "one", "if": "one", "then": "one", "else": "one", "contains": "one", "propertyNames": "one", "items": "one",
	"additionalItems": "one", "additionalProperties": "one", "unevaluatedItems": "one", "unevaluatedProperties": "one",
	"allOf": "list", "anyOf": "list", "oneOf": "list", "prefixItems": "list",
	"$defs": "names", "definitions": "names", "properties": "names", "patternProperties": "names",
	"dependentSchemas": "names", "dependencies": "names",
}

// fill reads the keywords of a part. What is of another type than [meta] says counts as not there:
// nothing that a $ref points at is checked before.
func (c *compiler) fill(p *part, at string, base *url.URL) {
	for _, name := range []string{"$dynamicRef", "$recursiveRef"} {
		if _, ok := p.raw[name]; ok && c.draft >= 2019 {
			c.fail(at, "where %s leads depends on the way to it: write $ref instead", name)
		}
	}
	p.subs, p.lists, p.named = make(map[string]*part), make(map[string][]*part), make(map[string]map[string]*part)
	p.numbers, p.counts = make(map[string]*big.Rat), make(map[string]int)
	ref, refers := p.raw["$ref"].(string)
	if refers {
		p.all, p.refs = []*part{always}, true
		c.pending = append(c.pending, func() { p.all[0] = c.resolve(ref, base) })
	}
	if refers && c.draft <= 7 { // which hides what stands beside it
		p.raw = map[string]any{"$defs": p.raw["$defs"], "definitions": p.raw["definitions"]}
	}
	for _, keyword := range slices.Sorted(maps.Keys(p.raw)) {
		c.below(p, keyword, at+"/"+keyword, base)
		if n, ok := p.raw[keyword].(json.Number); ok {
			p.numbers[keyword] = ratOf(n)
			f, _ := p.numbers[keyword].Float64()
			p.counts[keyword] = int(max(0, min(f, 1<<53)))
		}
		if numberRules[keyword].fits != nil || sizeRules[keyword].kind != "" || slices.Contains(otherRules, keyword) {
			p.rules = append(p.rules, keyword)
		}
	}
	if one, ok := p.raw["type"].(string); ok {
		p.types = []string{one}
	} else if p.types = texts(p.raw["type"]); p.types != nil {
		slices.Sort(p.types)
	}
	p.all = append(p.all, p.lists["allOf"]...)
	if list, ok := p.raw["enum"].([]any); ok {
		p.values = map[string]values{"enum": oneOf(list)}
	}
	if v, ok := p.raw["const"]; ok {
		p.values = map[string]values{"enum": p.values["enum"], "const": oneOf([]any{v})}
	}
	if text, ok := p.raw["pattern"].(string); ok {
		p.pattern = c.pattern(text, at+"/pattern")
	}
	if named := p.named["patternProperties"]; len(named) > 0 {
		p.patterns = make(map[*pattern]*part, len(named))
		for name, sub := range named {
			p.patterns[c.pattern(name, at+"/patternProperties"+value.Pointer(name))] = sub
		}
	}
	// The drafts spell the schemas of items by place in two ways.
	p.first, p.items = p.lists["prefixItems"], p.subs["items"]
	if tuple := p.lists["items"]; tuple != nil {
		p.first, p.items = tuple, p.subs["additionalItems"]
	}
}

// below compiles the schemas that a keyword holds.
func (c *compiler) below(p *part, keyword, at string, base *url.URL) {
	raw, holds := p.raw[keyword], holders[keyword]
	list, isList := raw.([]any)
	if isList && keyword == "items" {
		if holds = "list"; c.draft >= 2020 {
			c.fail(at, "expected boolean or object, got array: write prefixItems")
		}
	}
	switch holds {
	case "one":
		p.subs[keyword] = c.part(raw, at, base)
	case "list":
		parts := make([]*part, len(list))
		for i, item := range list {
			parts[i] = c.part(item, at+"/"+strconv.Itoa(i), base)
		}
		p.lists[keyword] = parts
	case "names":
		fields, _ := raw.(map[string]any)
		parts := make(map[string]*part, len(fields))
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			parts[name] = c.part(fields[name], at+value.Pointer(name), base)
		}
		p.named[keyword] = parts
	}
}

func (c *compiler) pattern(text, at string) *pattern {
	p, err := compilePattern(text, func(bytes int) error { c.pay(0, bytes); return c.err })
	if err != nil {
		c.fail(at, "%v", err)
	}
	return p
}

// texts is a list of strings; nil where raw is none.
func texts(raw any) []string {
	list, ok := raw.([]any)
	if !ok {
		return nil
	}
	out := make([]string, len(list))
	for i, item := range list {
		out[i], _ = item.(string)
	}
	return out
}

func oneOf(list []any) values {
	v := values{"one of " + listValues(list), make(map[string]bool, len(list))}
	if len(list) == 1 {
		v.words = value.Show(list[0])
	}
	for _, item := range list {
		v.keys[keyOf(item)] = true
	}
	return v
}
