package schema

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"

	"usher/caps/value"
)

// keywords are those of one schema. What is of another type than [meta] says
// counts as not there: nothing that a $ref points at is checked before.
type keywords struct {
	*compiler
	raw  map[string]any
	at   string
	base *url.URL
}

// fill reads the keywords into a part.
func (k *keywords) fill(p *part) {
	for _, name := range []string{"$dynamicRef", "$recursiveRef"} {
		if _, ok := k.raw[name]; ok && k.draft >= 2019 {
			k.fail(k.at, "where %s leads depends on the way to it: write $ref instead", name)
		}
	}
	if ref, ok := k.raw["$ref"].(string); ok {
		p.all, p.refs = []*part{always}, true
		k.pending = append(k.pending, reference{p, ref, k.base})
	}
	k.named("$defs")
	k.named("definitions")
	if p.refs && k.draft <= 7 {
		return
	}
	if d, ok := k.raw["default"]; ok {
		p.defaultTo = &d
	}
	p.all = append(p.all, k.subs("allOf")...)
	p.anyOf, p.oneOf, p.not = k.subs("anyOf"), k.subs("oneOf"), k.sub("not")
	p.when, p.then, p.otherwise = k.sub("if"), k.sub("then"), k.sub("else")
	k.value(p)
	k.object(p)
	k.array(p)
}

// value reads what is asked of the value as a whole.
func (k *keywords) value(p *part) {
	if one, ok := k.raw["type"].(string); ok {
		p.types = []string{one}
	} else if p.types = texts(k.raw["type"]); p.types != nil {
		slices.Sort(p.types)
	}
	if list, ok := k.raw["enum"].([]any); ok {
		p.values = append(p.values, oneOf(list))
	}
	if v, ok := k.raw["const"]; ok {
		p.values = append(p.values, oneOf([]any{v}))
	}
	for _, rule := range numberRules {
		if n, ok := k.raw[rule.keyword].(json.Number); ok {
			if b := ratOf(n); rule.keyword != "multipleOf" || b.Sign() > 0 {
				p.numbers = append(p.numbers, numberBound{rule.words + n.String(), b, rule.fits})
			}
		}
	}
	for _, rule := range sizeRules {
		if n, ok := k.count(rule.keyword); ok {
			p.sizes = append(p.sizes, sizeBound{rule.kind, rule.least, n})
		}
	}
	if text, ok := k.raw["pattern"].(string); ok {
		p.pattern = k.pattern(text, k.at+"/pattern")
	}
}

func (k *keywords) object(p *part) {
	p.required, p.properties = texts(k.raw["required"]), k.named("properties")
	p.needs, p.dependent = make(map[string][]string), k.named("dependentSchemas")
	k.each("dependentRequired", func(name string, raw any, _ string) { p.needs[name] = texts(raw) })
	k.each("dependencies", func(name string, raw any, at string) {
		if names := texts(raw); names != nil {
			p.needs[name] = names
		} else {
			p.dependent[name] = k.part(raw, at, k.base)
		}
	})
	k.each("patternProperties", func(name string, raw any, at string) {
		p.patterns = append(p.patterns, patternPart{k.pattern(name, at), k.part(raw, at, k.base)})
	})
	p.additional, p.names, p.otherFields = k.sub("additionalProperties"), k.sub("propertyNames"), k.sub("unevaluatedProperties")
}

// array reads what is asked of items: the drafts spell their tuples in two ways.
func (k *keywords) array(p *part) {
	_, tuple := k.raw["items"].([]any)
	switch {
	case tuple && k.draft < 2020:
		p.first, p.items = k.subs("items"), k.sub("additionalItems")
	case tuple:
		k.fail(k.at+"/items", "expected boolean or object, got array: write prefixItems")
	default:
		p.first, p.items = k.subs("prefixItems"), k.sub("items")
	}
	p.contains, p.otherItems = k.sub("contains"), k.sub("unevaluatedItems")
	p.least, p.most = 1, -1
	if n, ok := k.count("minContains"); ok {
		p.least = n
	}
	if n, ok := k.count("maxContains"); ok {
		p.most = n
	}
	p.unique, _ = k.raw["uniqueItems"].(bool)
}

func (k *keywords) sub(name string) *part {
	if raw, ok := k.raw[name]; ok {
		return k.part(raw, k.at+"/"+name, k.base)
	}
	return nil
}

func (k *keywords) subs(name string) (out []*part) {
	list, _ := k.raw[name].([]any)
	for i, raw := range list {
		out = append(out, k.part(raw, k.at+"/"+name+"/"+strconv.Itoa(i), k.base))
	}
	return out
}

// each goes through what stands below a keyword, in the order of the names.
func (k *keywords) each(keyword string, do func(name string, raw any, at string)) {
	m, _ := k.raw[keyword].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		do(name, m[name], k.at+"/"+keyword+"/"+escape(name))
	}
}

func (k *keywords) named(keyword string) map[string]*part {
	out := make(map[string]*part)
	k.each(keyword, func(name string, raw any, at string) { out[name] = k.part(raw, at, k.base) })
	return out
}

func (k *keywords) pattern(text, at string) *pattern {
	p, err := compilePattern(text, func(bytes int) error { k.pay(0, bytes); return k.err })
	if err != nil {
		k.fail(at, "%v", err)
	}
	return p
}

func (k *keywords) count(name string) (n int, ok bool) {
	number, ok := k.raw[name].(json.Number)
	if !ok {
		return 0, false
	}
	f, _ := ratOf(number).Float64()
	return int(max(0, min(f, 1<<53))), true
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
	v := values{"expected one of " + listed(list), make(map[string]bool, len(list))}
	if len(list) == 1 {
		v.words = "expected " + value.Show(list[0])
	}
	for _, item := range list {
		v.keys[keyOf(item)] = true
	}
	return v
}
