package ucan

import (
	"fmt"
	"reflect"

	"usher/caps"
)

// readCapabilities reads "att", or the "cap" of UCAN 0.9 and later.
func (l Limits) readCapabilities(f *fields, version string) (grants []grant) {
	add := func(with, can string) {
		g, err := newGrant(with, can)
		switch {
		case len(grants) == l.capabilities():
			f.fail(fmt.Errorf("%w: more than %d capabilities (Limits.Capabilities)", ErrTooLarge, len(grants)))
		case err != nil:
			f.fail(malformed("capability %d: %w", len(grants)+1, err))
		}
		if f.err == nil {
			grants = append(grants, g)
		}
	}
	_, hasAtt := f.m["att"]
	_, hasCap := f.m["cap"]
	switch {
	case hasAtt && hasCap:
		f.fail(malformed(`it has both "att" and "cap"; write one`))
	case hasCap && version == "":
		f.fail(malformed(`"cap" belongs to UCAN 0.9 and later, and "ucv" is missing`))
	case hasCap:
		readCapMap(f, add)
	case !hasAtt:
		f.fail(malformed(`the claim "att" is missing; write [] to grant nothing`))
	}
	items, _ := field[[]any](f, "att")
	for i, item := range items {
		m, _ := item.(map[string]any)
		c := fields{m: m}
		c.only("with", "can") // a third key would be a restriction that nobody here enforces
		c.need("with", "can")
		with, _ := field[string](&c, "with")
		can, _ := field[string](&c, "can")
		if c.err != nil {
			f.fail(fmt.Errorf("att[%d]: %w", i, c.err))
		}
		add(with, can)
	}
	return grants
}

// readCapMap reads {resource: {ability: [{}]}}. A caveat other than {} restricts
// in words that nobody here understands, so the token is refused.
func readCapMap(f *fields, add func(with, can string)) {
	byResource, _ := field[map[string]any](f, "cap")
	for _, with := range sortedKeys(byResource) {
		byAbility, _ := byResource[with].(map[string]any)
		if len(byAbility) == 0 {
			f.fail(malformed("cap[%s] is not an object of abilities", quoteShort(with)))
		}
		for _, can := range sortedKeys(byAbility) {
			if !reflect.DeepEqual(byAbility[can], []any{map[string]any{}}) {
				f.fail(malformed("cap[%s][%s] is not [{}]; no caveat is understood", quoteShort(with), quoteShort(can)))
			}
			add(with, can)
		}
	}
}

// newGrant reads {with, can}; the owner stays zero where with names none.
func newGrant(with, can string) (grant, error) {
	c, err := caps.NewCapability(with, can)
	if err != nil {
		return grant{}, err
	}
	g := grant{shown: c, path: c.Resource(), can: c.Can()}
	if d := g.path.DID(); d != "" {
		if g.owner, err = ParseDID(d); err != nil {
			return grant{}, err
		}
		g.path = g.path.In(d)
	}
	return g, nil
}
