package tools

import (
	"context"
	"slices"
	"strings"
	"time"

	"usher/caps"
	"usher/caps/value"
)

// settle decides what the terms of capabilities left open, by the input of the call
// itself and the time. Each requirement has to be met; with one that a person has to
// allow the call is one to ask about. What an operation starts is decided by its own
// input.
func (g *Gate) settle(r *Ruling) (asked *guardError, err error) {
	if !slices.ContainsFunc(r.found, func(f decision) bool { return f.Open() }) {
		return nil, nil
	}
	facts, err := g.facts(r)
	if err != nil {
		return nil, err
	}
	facts = facts.Keep()
	var reasons []string
	for i := range r.found {
		f := &r.found[i]
		f.Decision = f.Settle(facts)
		switch by, _ := f.By(); {
		case f.IsAllowed():
		case f.IsAsk():
			why := f.Request().String() + " is given by " + value.Cut(by.String(), maxBy)
			if len(reasons) < maxReasons && !slices.Contains(reasons, why) {
				reasons = append(reasons, why)
			}
		default:
			f.unmet = true
			// The ledger has no values of inputs, and nor has anybody those of secrets.
			r.denial = r.withheld(f.Decision, facts, false)
			r.reason = r.denial.Error()
			if op := r.op; !op.sealed && !op.secrets && !op.undigested {
				r.denial = r.withheld(f.Decision, facts, true)
			}
			need := f.Request()
			r.denial.BoundedBy = r.auth.bounder(context.Background(), func(set caps.Set) bool {
				d := set.Check(need).Settle(facts)
				return d.IsAllowed() || d.IsAsk()
			})
			return nil, r.denial
		}
	}
	if len(reasons) == 0 {
		return nil, nil
	}
	return &guardError{operation: r.op.path, verdict: Asked, why: strings.Join(reasons, "; ")}, nil
}

// maxReasons bounds how many requirements the reason of a call to ask about names.
const maxReasons = 8

// facts are what is known of the call for the terms of capabilities. Of an input in
// which a key stands twice a check and a handler could see either value.
func (g *Gate) facts(r *Ruling) (caps.Facts, error) {
	input, err := value.Decode(r.input, value.MaxDepth)
	if err != nil {
		return caps.Facts{}, &InputError{Operation: r.op.path, Err: err}
	}
	return caps.Facts{Now: g.mint.now(), Input: input}, nil
}

// withheld is the denial of a requirement whose terms do not hold.
func (r *Ruling) withheld(d caps.Decision, facts caps.Facts, reveal bool) *caps.Denial {
	denial := d.Denial(r.op.path)
	if lacks := d.Lacks(facts, reveal); lacks != "" {
		denial.Why, denial.Hint = "Its terms do not hold: "+lacks+".", ""
	}
	return denial
}

// now is the time by the clock of the venue.
func (m *Mint) now() time.Time {
	if m.clock == nil {
		return time.Now()
	}
	return m.clock()
}
