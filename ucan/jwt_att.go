package ucan

import (
	"fmt"

	"usher/caps"
)

// readCapabilities reads "att", or the "cap" of UCAN 0.9 and later.
func (l Limits) readCapabilities(p map[string]any, version string) ([]grant, error) {
	att, hasAtt := p["att"]
	capMap, hasCap := p["cap"]
	var list [][2]string
	switch {
	case hasAtt && hasCap:
		return nil, malformed(`it has both "att" and "cap"; write one`)
	case hasCap && version == "":
		return nil, malformed(`"cap" belongs to UCAN 0.9 and later, and "ucv" is missing`)
	case hasCap:
		var err error
		if list, err = readCapMap(capMap); err != nil {
			return nil, err
		}
	case hasAtt:
		items, ok := att.([]any)
		if !ok {
			return nil, malformed("att is not a list")
		}
		for i, item := range items {
			m, ok := item.(map[string]any)
			if !ok {
				return nil, malformed("att[%d] is not an object", i)
			}
			// A third key would be a restriction that nobody here enforces.
			if err := onlyKeys(m, "with", "can"); err != nil {
				return nil, fmt.Errorf("att[%d]: %w", i, err)
			}
			with, okWith := m["with"].(string)
			can, okCan := m["can"].(string)
			if !okWith || !okCan {
				return nil, malformed(`att[%d] needs the texts "with" and "can"`, i)
			}
			list = append(list, [2]string{with, can})
		}
	default:
		return nil, malformed(`the claim "att" is missing; write [] to grant nothing`)
	}
	if len(list) > l.capabilities() {
		return nil, fmt.Errorf("%w: %d capabilities, at most %d are taken (Limits.Capabilities)", ErrTooLarge, len(list), l.capabilities())
	}
	grants := make([]grant, 0, len(list))
	for i, c := range list {
		g, err := newGrant(c[0], c[1])
		if err != nil {
			return nil, malformed("att[%d]: %w", i, err)
		}
		grants = append(grants, g)
	}
	return grants, nil
}

// readCapMap reads {resource: {ability: [{}]}}. A caveat other than {} restricts
// in words that nobody here understands, so the token is refused.
func readCapMap(v any) ([][2]string, error) {
	byResource, ok := v.(map[string]any)
	if !ok {
		return nil, malformed("cap is not an object")
	}
	var list [][2]string
	for _, with := range sortedKeys(byResource) {
		byAbility, ok := byResource[with].(map[string]any)
		if !ok || len(byAbility) == 0 {
			return nil, malformed("cap[%s] is not an object of abilities", quoteShort(with))
		}
		for _, can := range sortedKeys(byAbility) {
			caveats, ok := byAbility[can].([]any)
			if !ok || len(caveats) != 1 {
				return nil, malformed("cap[%s][%s] is not a list of one caveat", quoteShort(with), quoteShort(can))
			}
			if caveat, ok := caveats[0].(map[string]any); !ok || len(caveat) != 0 {
				return nil, malformed("cap[%s][%s] has a caveat; only {} is understood", quoteShort(with), quoteShort(can))
			}
			list = append(list, [2]string{with, can})
		}
	}
	return list, nil
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
