package schema

import "usher/caps/value"

// within checks a value that lies in the one at hand.
func (j *judge) within(p *part, s step, v any) misfits {
	if p == nil {
		return nil
	}
	j.at = append(j.at, s)
	found := j.apply(p, v, 0, nil)
	j.at = j.at[:len(j.at)-1]
	return found
}

func (j *judge) object(p *part, v map[string]any, chain int, e evaluated) (found misfits) {
	missing := func(names []string) {
		j.spend(len(names))
		for _, name := range names {
			if j.settled(found) {
				return
			}
			if _, ok := v[name]; !ok {
				found = append(found, j.field(name, isMissing)...)
			}
		}
	}
	missing(p.required)
	for name, names := range p.needs {
		if _, ok := v[name]; ok {
			missing(names)
		}
	}
	for name, sub := range p.dependent {
		if _, ok := v[name]; ok {
			found = append(found, j.apply(sub, v, chain, e)...)
		}
	}
	for key, item := range v {
		if j.settled(found) {
			return found
		}
		if p.names != nil && !j.fits(p.names, key, 0, nil) {
			found = append(found, j.misfit("the field name %s is not allowed", value.Show(key))...)
		}
		known := false
		if sub := p.properties[key]; sub != nil {
			known = true
			found = append(found, j.within(sub, step{key, -1}, item)...)
		}
		for _, by := range p.patterns {
			if j.spend(by.pattern.cost(key)) && by.pattern.MatchString(key) {
				known = true
				found = append(found, j.within(by.part, step{key, -1}, item)...)
			}
		}
		if !known && p.additional != nil {
			known = true
			found = append(found, j.other(p.additional, key, item)...)
		}
		if known {
			e.note(key)
		}
	}
	if p.otherFields != nil {
		for key, item := range v {
			if !e[key] {
				found = append(found, j.other(p.otherFields, key, item)...)
				e.note(key)
			}
		}
	}
	return found
}

// other checks a field that nothing else of the schema speaks of.
func (j *judge) other(p *part, key string, v any) misfits {
	if p.never {
		return j.field(key, "not a field that the schema allows")
	}
	return j.within(p, step{key, -1}, v)
}

func (j *judge) field(key, problem string) misfits {
	j.at = append(j.at, step{key, -1})
	defer func() { j.at = j.at[:len(j.at)-1] }()
	return j.misfit("%s", problem)
}

func (j *judge) array(p *part, v []any, e evaluated) (found misfits) {
	matches := 0
	for i, item := range v {
		if j.settled(found) {
			return found
		}
		sub := p.items
		if i < len(p.first) {
			sub = p.first[i]
		}
		if sub != nil && sub.never && i >= len(p.first) {
			return append(found, j.misfit("has %d items more than the schema allows", len(v)-i)...)
		}
		found = append(found, j.within(sub, step{"", i}, item)...)
		if sub != nil {
			e.note(i)
		}
		if p.contains != nil && j.fits(p.contains, item, 0, nil) {
			matches++
			e.note(i)
		}
	}
	if p.contains != nil && matches < p.least {
		found = append(found, j.misfit("has too few items of the kind that it must contain")...)
	}
	if p.contains != nil && p.most >= 0 && matches > p.most {
		found = append(found, j.misfit("has %d items of a kind of which it may contain at most %d", matches, p.most)...)
	}
	if p.unique && j.weigh(v) {
		seen := make(map[string]int, len(v))
		for i, item := range v {
			key := keyOf(item)
			if first, twice := seen[key]; twice {
				found = append(found, j.misfit("items %d and %d are equal, where each must differ", first, i)...)
				break
			}
			seen[key] = i
		}
	}
	if p.otherItems != nil {
		for i, item := range v {
			if !e[i] {
				found = append(found, j.within(p.otherItems, step{"", i}, item)...)
				e.note(i)
			}
		}
	}
	return found
}
