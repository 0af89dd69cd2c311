package schema

// within checks a value that lies in the one at hand.
func (j *judge) within(p *part, s step, v any) misfits {
	j.at = append(j.at, s)
	found := j.apply(p, v, 0, nil)
	j.at = j.at[:len(j.at)-1]
	return found
}

func (j *judge) field(key, problem string) misfits {
	j.at = append(j.at, step{key, -1})
	defer func() { j.at = j.at[:len(j.at)-1] }()
	return j.misfit("%s", problem)
}

// pass pays for going by so many fields or items, most of which cost nothing else.
func (j *judge) pass(many int) { j.spend(many / 8) }

// absent tells which fields an object lacks.
func (j *judge) absent(v map[string]any, names []string) (found misfits) {
	j.spend(len(names))
	for _, name := range names {
		if _, ok := v[name]; !ok && !j.isSettled(found) {
			found = append(found, j.field(name, isMissing)...)
		}
	}
	return found
}

// dependents checks what an object has to fit, or to have, where it has a field.
func (j *judge) dependents(p *part, keyword string, v map[string]any, chain int, e coverage) (found misfits) {
	conditions, _ := p.raw[keyword].(map[string]any)
	j.spend(len(conditions))
	for name, condition := range conditions {
		if _, ok := v[name]; !ok {
			continue
		}
		found = append(found, j.absent(v, texts(condition))...)
		if sub := p.named[keyword][name]; sub != nil {
			found = append(found, j.apply(sub, v, chain, e)...)
		}
	}
	return found
}

// parts finds the schemas that a field has to fit.
func (j *judge) parts(p *part, key string, found func(*part)) {
	sub, known := p.named["properties"][key]
	if known {
		found(sub)
	}
	for pattern, sub := range p.patterns {
		if j.spend(pattern.cost(key)) && pattern.MatchString(key) {
			known = true
			found(sub)
		}
	}
	if sub := p.subs["additionalProperties"]; !known && sub != nil {
		found(sub)
	}
}

// object checks the fields of v.
func (j *judge) object(p *part, v map[string]any, e coverage) (found misfits) {
	check := func(sub *part, key string) {
		if e.note(key); sub.never {
			found = append(found, j.field(key, "not a field that the schema allows")...)
		} else {
			found = append(found, j.within(sub, step{key, -1}, v[key])...)
		}
	}
	j.pass(len(v))
	for key := range v {
		if j.isSettled(found) {
			return found
		}
		j.parts(p, key, func(sub *part) { check(sub, key) })
	}
	if sub := p.subs["unevaluatedProperties"]; sub != nil {
		for key := range v {
			if !e[key] {
				check(sub, key)
			}
		}
	}
	return found
}

// array checks the items of v.
func (j *judge) array(p *part, v []any, e coverage) (found misfits) {
	j.pass(len(v))
	for i, item := range v {
		if j.isSettled(found) {
			return found
		}
		sub := p.item(i)
		if sub == nil {
			continue
		}
		if sub.never && i >= len(p.first) {
			return append(found, j.misfit("has %d items more than the schema allows", len(v)-i)...)
		}
		found = append(found, j.within(sub, step{"", i}, item)...)
		e.note(i)
	}
	if sub := p.subs["unevaluatedItems"]; sub != nil {
		for i, item := range v {
			if !e[i] {
				found = append(found, j.within(sub, step{"", i}, item)...)
				e.note(i)
			}
		}
	}
	return found
}

// item is the schema of an item; nil where there is none.
func (p *part) item(i int) *part {
	if i < len(p.first) {
		return p.first[i]
	}
	return p.items
}

func (j *judge) contains(p *part, v []any, e coverage) (found misfits) {
	matches := 0
	for i, item := range v {
		if j.fits(p.subs["contains"], item, 0, nil) {
			matches++
			e.note(i)
		}
	}
	if least, ok := p.counts["minContains"]; matches < least || !ok && matches == 0 {
		found = j.misfit("has too few items of the kind that it must contain")
	}
	if most, ok := p.counts["maxContains"]; ok && matches > most {
		found = append(found, j.misfit("has %d items of a kind of which it may contain at most %d", matches, most)...)
	}
	return found
}

func (j *judge) unique(v []any) misfits {
	seen := make(map[string]int, len(v))
	for i, item := range v {
		key := keyOf(item)
		if first, twice := seen[key]; twice {
			return j.misfit("items %d and %d are equal, where each must differ", first, i)
		}
		seen[key] = i
	}
	return nil
}
