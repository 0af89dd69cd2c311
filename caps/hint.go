package caps

import "strings"

// hintScan bounds how many capabilities a hint looks at, so that a denial costs
// the same whatever else is held.
const hintScan = 128

// hint names the nearest resource on which s allows the ability that r was
// denied for, or is "" where none shares its first segment.
func (s Set) hint(r Request) string {
	if s.IsUnrestricted() || r.kind < onResource {
		return ""
	}
	near := s.nearest(r.can, r.on)
	with := near.With()
	switch {
	case with == "":
		return ""
	case strings.HasSuffix(with, "/"):
		return "You may " + string(r.can) + " below " + with + near.terms.String() + "."
	default: // below an agent or a secret there is nothing, and a record is itself what may be used
		return "You may " + string(r.can) + " on " + with + near.terms.String() + "."
	}
}

// nearest returns the capability for can that shares the most segments with on,
// and then the most bytes. All of one's own is below the root: the first will do.
func (s Set) nearest(can Ability, on Resource) (best Capability) {
	segments, bytes := 0, 0
	list := s.list()
	for _, c := range list[:min(len(list), hintScan)] {
		if c.Denies() || !c.can.Covers(can) {
			continue
		}
		text := c.Resource().text
		if on.IsRoot() && !c.Resource().absolute() {
			return c
		}
		alike := commonPrefix(text, on.text)
		shared := strings.Count(text[:alike], "/")
		if endsSegment(text, alike) && endsSegment(on.text, alike) {
			shared++
		}
		if shared > segments || shared == segments && shared > 0 && alike > bytes {
			best, segments, bytes = c, shared, alike
		}
	}
	return best
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
