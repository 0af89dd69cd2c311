package caps

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"usher/caps/value"
)

// meetWhen returns the limits of both. ok is false where no input could meet them,
// or they would be more than can be written.
func meetWhen(a, b []Limit) (both []Limit, ok bool) {
	if len(a) == 0 || len(b) == 0 {
		return append(a[:len(a):len(a)], b...), true
	}
	both = slices.Clone(a)
	for _, l := range b {
		i := slices.IndexFunc(both, func(m Limit) bool { return slices.Equal(m.At, l.At) })
		if i < 0 {
			both = append(both, l)
			continue
		}
		if both[i], ok = both[i].meet(l); !ok {
			return nil, false
		}
	}
	slices.SortFunc(both, func(x, y Limit) int { return slices.Compare(x.At, y.At) })
	return both, checkBounds(both) == nil
}

func (l Limit) meet(m Limit) (Limit, bool) {
	l.Max = tighter(l.Max, m.Max, -1)
	l.Min = tighter(l.Min, m.Min, 1)
	switch {
	case l.In == nil:
		l.In = m.In
	case m.In != nil:
		l.In = slices.DeleteFunc(slices.Clone(l.In), func(v any) bool { return among(m.In, v) != yes })
	}
	switch {
	case l.NotIn == nil:
		l.NotIn = m.NotIn
	case m.NotIn != nil: // a value has to be of a type that both name
		l.NotIn = append(ofKinds(l.NotIn, m.NotIn), ofKinds(m.NotIn, l.NotIn)...)
	}
	if l.In != nil && len(l.In) == 0 || l.NotIn != nil && len(l.NotIn) == 0 {
		return l, false
	}
	return l, true
}

// tighter returns the lesser bound where sign is -1, and the greater where it is 1.
func tighter(a, b json.Number, sign int) json.Number {
	if a == "" || b == "" {
		return cmp.Or(a, b)
	}
	if c, _ := value.Compare(a, b); c == sign {
		return a
	}
	return b
}

// ofKinds returns the values of a list whose type another list has, too.
func ofKinds(list, other []any) []any {
	return slices.DeleteFunc(slices.Clone(list), func(v any) bool {
		return !slices.ContainsFunc(other, func(w any) bool { return value.Kind(v) == value.Kind(w) })
	})
}

// sameWhen reports whether limits are written alike.
func sameWhen(a, b []Limit) bool { return bytes.Equal(whenJSON(a), whenJSON(b)) }

// implies reports whether every input that meets narrow meets wide, as far as the
// limits tell.
func implies(wide, narrow []Limit) bool {
	for i := range wide {
		w := &wide[i]
		at := slices.IndexFunc(narrow, func(n Limit) bool { return slices.Equal(n.At, w.At) })
		if at < 0 || !w.isImpliedBy(&narrow[at]) {
			return false
		}
	}
	return true
}

func (l *Limit) isImpliedBy(n *Limit) bool {
	if n.In != nil { // all that there can be
		return !slices.ContainsFunc(n.In, func(v any) bool { return l.admits(v) != yes })
	}
	switch {
	case l.In != nil,
		l.Max != "" && (n.Max == "" || atMost(n.Max, l.Max) != yes),
		l.Min != "" && (n.Min == "" || atMost(l.Min, n.Min) != yes):
		return false
	case l.NotIn == nil:
		return true
	}
	// Every value that the wide list names or has a type for must be told apart by the narrow one.
	return n.NotIn != nil && len(ofKinds(n.NotIn, l.NotIn)) == len(n.NotIn) &&
		!slices.ContainsFunc(ofKinds(l.NotIn, n.NotIn), func(v any) bool { return among(n.NotIn, v) != yes })
}
