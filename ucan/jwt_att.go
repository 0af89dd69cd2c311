package ucan

import (
	"fmt"

	"usher/caps"
)

// readCapabilities reads "att", or the "cap" of UCAN 0.9 and later.
func (l Limits) readCapabilities(f *fields, version string) []grant {
	_, hasAtt := f.m["att"]
	_, hasCap := f.m["cap"]
	var list [][2]string
	switch {
	case hasAtt && hasCap:
		f.fail(malformed(`it has both "att" and "cap"; write one`))
	case hasCap && version == "":
		f.fail(malformed(`"cap" belongs to UCAN 0.9 and later, and "ucv" is missing`))
	case hasCap:
		list = readCapMap(f)
	case hasAtt:
		items, _ := field[[]any](f, "att")
		for i, item := range items {
			m, _ := item.(map[string]any)
			c := fields{m: m}
			// A third key would be a restriction that nobody here enforces.
			c.only("with", "can")
			c.need("with", "can")
			with, _ := field[string](&c, "with")
			can, _ := field[string](&c, "can")
			if c.err != nil {
				f.fail(fmt.Errorf("att[%d]: %w", i, c.err))
			}
			list = append(list, [2]string{with, can})
		}
	default:
		f.fail(malformed(`the claim "att" is missing; write [] to grant nothing`))
	}
	if len(list) > l.capabilities() {
		f.fail(fmt.Errorf("%w: %d capabilities, at most %d are taken (Limits.Capabilities)", ErrTooLarge, len(list), l.capabilities()))
	}
	if f.err != nil {
		return nil
	}
	grants := make([]grant, len(list))
	for i, c := range list {
		var err error
		if grants[i], err = newGrant(c[0], c[1]); err != nil {
			f.fail(malformed("att[%d]: %w", i, err))
		}
	}
	return grants
}

// readCapMap reads {resource: {ability: [{}]}}. A caveat other than {} restricts
// in words that nobody here understands, so the token is refused.
func readCapMap(f *fields) (list [][2]string) {
	byResource, _ := field[map[string]any](f, "cap")
	for _, with := range sortedKeys(byResource) {
		byAbility, _ := byResource[with].(map[string]any)
		if len(byAbility) == 0 {
			f.fail(malformed("cap[%s] is not an object of abilities", quoteShort(with)))
		}
		for _, can := range sortedKeys(byAbility) {
			caveats, _ := byAbility[can].([]any)
			caveat := map[string]any{"": nil}
			if len(caveats) == 1 {
				caveat, _ = caveats[0].(map[string]any)
			}
			if caveat == nil || len(caveat) != 0 {
				f.fail(malformed("cap[%s][%s] is not [{}]; no caveat is understood", quoteShort(with), quoteShort(can)))
			}
			list = append(list, [2]string{with, can})
		}
	}
	return list
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
