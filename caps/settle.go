package caps

import (
	"fmt"
	"strings"
	"time"

	"usher/caps/value"
)

// Facts are what the terms of capabilities are held against.
type Facts struct {
	Now   time.Time // zero: not known
	Input any       // of the call, as [value.Decode] reads it

	held map[*terms]truth // nil remembers nothing
}

// Keep returns f for several decisions on one call: what was found of a capability's
// limits is not looked for again. It is not safe for concurrent use.
func (f Facts) Keep() Facts {
	f.held = make(map[*terms]truth)
	return f
}

// hold says whether the limits of terms do.
func (f *Facts) hold(t *terms) truth {
	if len(t.when) == 0 {
		return yes
	}
	found, known := f.held[t]
	if !known {
		if found = hold(t.when, f.Input); f.held != nil {
			f.held[t] = found
		}
	}
	return found
}

// Settle decides what [Set.Check] left open. In this order: a denial that bears on
// the request and is not surely off; a capability that holds; one that holds after
// a person was asked. What the facts do not tell allows nothing, and leaves a denial
// standing.
func (d Decision) Settle(f Facts) Decision {
	if !d.Open() {
		return d
	}
	r, a, list := &d.request, d.set.c.aside, d.set.c.list
	for _, i := range a.denies {
		if t := list[i].terms; list[i].touches(r) && !t.over(f.Now) && f.hold(t) != no {
			d.verdict = forbidden | verdict(i+1)
			return d
		}
	}
	if d.verdict &^= open; d.verdict.isAllowed() {
		return d
	}
	for _, i := range a.grants {
		if t := list[i].terms; list[i].matches(r) && t.runs(f.Now) && f.hold(t) == yes {
			d.verdict = verdict(i + 1)
			if t.ask {
				d.verdict |= asked
			}
			return d
		}
	}
	return d
}

// How many capabilities a denial explains, and in how many bytes.
const (
	maxLacks     = 4
	maxLacksText = 1 << 10
)

// Lacks says what of the terms did not hold in a denied decision, for capabilities
// whose two fields cover the request: "/amount is 250, not at most 100". It is "" where there
// are none. Without reveal it does not show what the input has.
func (d Decision) Lacks(f Facts, reveal bool) string {
	if d.verdict != 0 || d.set.IsPlain() {
		return ""
	}
	var parts []string
	for _, i := range d.set.c.aside.grants {
		c := d.set.c.list[i]
		if d.request.kind == handsOn {
			if c.spans(d.request.handOver()) {
				parts = append(parts, "you hold "+c.String())
			}
		} else if c.matches(&d.request) {
			parts = append(parts, c.terms.lacks(f, reveal)...)
		}
		if len(parts) >= maxLacks {
			break
		}
	}
	return value.Cut(strings.Join(parts, "; "), maxLacksText)
}

// lacks lists what does not hold.
func (t *terms) lacks(f Facts, reveal bool) (list []string) {
	if t.over(f.Now) {
		list = append(list, "it ended at "+t.until.Format(time.RFC3339))
	}
	for i := range t.when {
		l := &t.when[i]
		v, found := l.find(f.Input)
		switch {
		case !found:
			list = append(list, fmt.Sprintf("%s is missing, and has to be %s", l.place(), l.bounds()))
		case l.admits(v) == yes:
		case reveal:
			list = append(list, fmt.Sprintf("%s is %s, not %s", l.place(), viewOf(v), l.bounds()))
		default:
			list = append(list, fmt.Sprintf("%s is not %s", l.place(), l.bounds()))
		}
	}
	return list
}

func viewOf(v any) string {
	switch v.(type) {
	case []any, map[string]any:
		return value.A(v)
	}
	return value.Show(v)
}
