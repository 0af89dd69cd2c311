package schema

import (
	"encoding/json"
	"math/big"
	"unicode/utf8"

	"usher/caps/value"
)

// numberRules are the keywords that bound numbers.
var numberRules = map[string]struct {
	words string
	fits  func(v, bound *big.Rat) bool
}{
	"minimum":          {"at least", func(v, bound *big.Rat) bool { return v.Cmp(bound) >= 0 }},
	"maximum":          {"at most", func(v, bound *big.Rat) bool { return v.Cmp(bound) <= 0 }},
	"exclusiveMinimum": {"more than", func(v, bound *big.Rat) bool { return v.Cmp(bound) > 0 }},
	"exclusiveMaximum": {"less than", func(v, bound *big.Rat) bool { return v.Cmp(bound) < 0 }},
	"multipleOf": {"a multiple of", func(v, bound *big.Rat) bool {
		return bound.Sign() <= 0 || new(big.Rat).Quo(v, bound).IsInt()
	}},
}

// sizeRules are the keywords that bound how much there is in a value of a kind.
var sizeRules = map[string]struct {
	kind, unit string
	least      bool
}{
	"minLength":     {"string", "characters", true},
	"maxLength":     {"string", "characters", false},
	"minItems":      {"array", "items", true},
	"maxItems":      {"array", "items", false},
	"minProperties": {"object", "fields", true},
	"maxProperties": {"object", "fields", false},
}

// otherRules are the other keywords that are judged one by one.
var otherRules = []string{
	"enum", "const", "pattern", "anyOf", "oneOf", "not", "if", "required", "dependentRequired", "dependentSchemas", "dependencies",
	"propertyNames", "contains", "uniqueItems",
}

// rule judges v by one keyword of p, where that looks at nothing beside it.
func (j *judge) rule(p *part, keyword string, v any, chain int, e coverage) (found misfits) {
	raw := p.raw[keyword]
	if rule, ok := numberRules[keyword]; ok {
		n, isNumber := v.(json.Number)
		bound := p.numbers[keyword]
		if isNumber && bound != nil && j.exact(n) && !rule.fits(ratOf(n), bound) {
			return j.misfit("expected %s %s, got %s", rule.words, raw, n)
		}
		return nil
	}
	if rule, ok := sizeRules[keyword]; ok {
		bound, stated := p.counts[keyword]
		if !stated || value.Kind(v) != rule.kind {
			return nil
		}
		size := j.size(v)
		switch {
		case rule.least && size < bound:
			return j.misfit("expected at least %d %s, got %d", bound, rule.unit, size)
		case !rule.least && size > bound:
			return j.misfit("expected at most %d %s, got %d", bound, rule.unit, size)
		}
		return nil
	}
	text, isText := v.(string)
	fields, isObject := v.(map[string]any)
	items, isArray := v.([]any)
	switch keyword {
	case "enum", "const":
		if allowed := p.values[keyword]; allowed.keys != nil && j.weigh(v) && !allowed.keys[keyOf(v)] {
			return j.misfit("expected %s, got %s", allowed.words, value.Show(v))
		}
	case "pattern":
		if isText && p.pattern != nil && j.spend(p.pattern.cost(text)) && !p.pattern.MatchString(text) {
			return j.misfit("%s does not match the pattern %s", value.Show(v), p.pattern)
		}
	case "anyOf", "oneOf":
		return j.alternatives(p.lists[keyword], keyword == "oneOf", v, chain, e)
	case "not":
		if j.fits(p.subs[keyword], v, chain, nil) {
			return j.misfit("fits what the schema excludes")
		}
	case "if":
		next := "else"
		if j.fits(p.subs[keyword], v, chain, e) {
			next = "then"
		}
		if sub := p.subs[next]; sub != nil {
			return j.apply(sub, v, chain, e)
		}
	case "required":
		if isObject {
			return j.absent(fields, texts(raw))
		}
	case "dependentRequired", "dependentSchemas", "dependencies":
		if isObject {
			return j.dependents(p, keyword, fields, chain, e)
		}
	case "propertyNames":
		for key := range fields {
			if !j.isSettled(found) && !j.fits(p.subs[keyword], key, 0, nil) {
				found = append(found, j.misfit("the field name %s is not allowed", value.Show(key))...)
			}
		}
	case "contains":
		if isArray {
			return j.contains(p, items, e)
		}
	case "uniqueItems":
		if isArray && raw == true && j.weigh(v) {
			return j.unique(items)
		}
	}
	return found
}

// alternatives checks v by several schemas, of which one has to fit, or exactly one.
func (j *judge) alternatives(subs []*part, exactly bool, v any, chain int, e coverage) misfits {
	var fits []int
	for i, sub := range subs { // all, for what they evaluate
		if j.fits(sub, v, chain, e) {
			fits = append(fits, i+1)
		}
	}
	switch {
	case len(subs) > 0 && fits == nil:
		return j.none(subs, v, chain)
	case exactly && len(fits) > 1:
		return j.misfit("fits the alternatives %d and %d, where exactly one may fit", fits[0], fits[1])
	}
	return nil
}

func (j *judge) size(v any) int {
	switch v := v.(type) {
	case string:
		j.spend(len(v) / unit)
		return utf8.RuneCountInString(v)
	case []any:
		return len(v)
	case map[string]any:
		return len(v)
	}
	return 0
}
