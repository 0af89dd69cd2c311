package caps

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"usher/caps/value"
)

// Terms are what a capability may carry beside its two fields. They are Usher's own:
// COG-13 has none of them. The zero value is that of a plain capability.
type Terms struct {
	Ask   bool            // a person has to allow each call
	When  json.RawMessage // limits on the input of the call, by JSON pointer; empty for none
	Until time.Time       // the last moment, in whole seconds; zero for no end
	Deny  bool            // what it covers is denied, whatever else allows it
}

// terms are [Terms] as they were read. They are immutable; a plain capability has
// none.
type terms struct {
	ask, deny bool
	until     time.Time // UTC; zero for no end
	when      []Limit
}

// On returns the capability with other terms. The error says what is wrong with
// them.
func (c Capability) On(t Terms) (Capability, error) {
	if c.can == "" {
		return c, errors.New("terms need a capability: make one with NewCapability")
	}
	out := terms{ask: t.Ask, deny: t.Deny, until: t.Until}
	if len(t.When) > 0 {
		v, err := value.Decode(t.When, maxSetNesting)
		if err == nil {
			out.when, err = parseWhen(v)
		}
		if err != nil {
			return Capability{}, fmt.Errorf("when: %w", err)
		}
	}
	if err := out.check(); err != nil {
		return Capability{}, err
	}
	c.terms = out.seal()
	return c, nil
}

func (t *terms) check() error {
	switch {
	case t.deny && t.ask:
		return errors.New("deny and ask contradict each other: write one of them")
	case t.until.IsZero():
		return nil
	}
	t.until = t.until.UTC()
	if y := t.until.Year(); t.until.Nanosecond() != 0 || y < 1 || y > 9999 {
		return errors.New("until: write whole seconds, for example 2026-12-31T18:00:00Z")
	}
	return nil
}

// seal returns the terms ready for use; nil where there are none.
func (t terms) seal() *terms {
	if !t.ask && !t.deny && t.until.IsZero() && len(t.when) == 0 {
		return nil
	}
	return &t
}

// over reports whether the end has passed: it is valid while now <= until.
func (t *terms) over(now time.Time) bool { return !t.until.IsZero() && now.After(t.until) }

// runs reports whether the end has not come, as far as the time is known.
func (t *terms) runs(now time.Time) bool {
	return t.until.IsZero() || !now.IsZero() && !t.over(now)
}

// Asks reports whether a person has to allow each call.
func (c Capability) Asks() bool { return c.terms != nil && c.terms.ask }

// Denies reports whether the capability grants nothing and denies what it covers.
func (c Capability) Denies() bool { return c.terms != nil && c.terms.deny }

// IsPlain reports whether the capability has its two fields alone.
func (c Capability) IsPlain() bool { return c.terms == nil }

// Until returns the last moment in which the capability counts; zero for one that
// does not end.
func (c Capability) Until() time.Time {
	if c.terms == nil {
		return time.Time{}
	}
	return c.terms.until
}

// Limits are those on the input of a call.
func (c Capability) Limits() Limits { return Limits{c.When()} }

// When returns the limits on the input of a call, by their pointers. Change nothing
// in them.
func (c Capability) When() []Limit {
	if c.terms == nil {
		return nil
	}
	return c.terms.when
}

// String returns e.g. " when /amount is at most 100, until 2026-12-31T18:00:00Z, after asking a person".
func (t *terms) String() string {
	if t == nil {
		return ""
	}
	var parts []string
	if len(t.when) > 0 {
		parts = append(parts, "when "+whenText(t.when))
	}
	if !t.until.IsZero() {
		parts = append(parts, "until "+t.until.Format(time.RFC3339))
	}
	if t.ask {
		parts = append(parts, "after asking a person")
	}
	if len(parts) == 0 {
		return ""
	}
	return " " + strings.Join(parts, ", ")
}

func (t *terms) equal(u *terms) bool {
	return t == u || t != nil && u != nil && t.ask == u.ask && t.deny == u.deny && t.until.Equal(u.until) && sameWhen(t.when, u.when)
}

// within reports whether a grant on terms t allows nothing that one on terms u, of
// the same, would not.
func (t *terms) within(u *terms) bool {
	switch {
	case u == nil || t == u:
		return true
	case t == nil:
		return false
	case u.ask && !t.ask, !u.until.IsZero() && (t.until.IsZero() || t.until.After(u.until)):
		return false
	}
	return implies(u.when, t.when)
}

// meet returns the terms of both grants; false where no call could be on both.
func (t *terms) meet(u *terms) (*terms, bool) {
	switch {
	case t.within(u):
		return t, true
	case u.within(t):
		return u, true
	}
	both := terms{ask: t.ask || u.ask, until: t.until}
	if both.until.IsZero() || !u.until.IsZero() && u.until.Before(both.until) {
		both.until = u.until
	}
	var ok bool
	if both.when, ok = meetWhen(t.when, u.when); !ok {
		return nil, false
	}
	return both.seal(), true
}

// outlasts reports whether a denial on terms t stands wherever one on terms u does.
func (t *terms) outlasts(u *terms) bool {
	if !t.until.IsZero() && (u.until.IsZero() || u.until.After(t.until)) {
		return false
	}
	return len(t.when) == 0 || sameWhen(t.when, u.when)
}
