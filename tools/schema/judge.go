package schema

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"usher/caps/value"
)

// maxChain bounds the schemas that apply to one and the same value in a row.
const maxChain = 256

var (
	errTooCostly = errors.New("checking this value against this schema would take too long: make either simpler")
	errCircular  = errors.New("schema refers to itself without an end at the same value: let the reference be below properties or items")
)

// judge applies schemas to one value. The first error ends its work: what it
// found until then counts for nothing.
type judge struct {
	ctx    context.Context
	charge Charge
	spent  int
	quiet  int    // above 0 it only matters whether the value fits
	told   int    // misfits
	at     []step // of the value at hand
	err    error
}

// step leads from a value to one within it.
type step struct {
	key   string
	index int // -1 for a key
}

// misfit is one way in which a value does not fit.
type misfit struct {
	at      []step
	problem string
	types   []string // where only these types would fit
}

// misfits are empty where a value fits. In quiet they say nothing.
type misfits []misfit

func newJudge(ctx context.Context, charge Charge) *judge { return &judge{ctx: ctx, charge: charge} }

func (j *judge) judge(p *part, v any) error {
	found := j.apply(p, v, 0, nil)
	if j.err == nil && len(found) > 0 {
		return explain(found)
	}
	return j.err
}

// fits reports whether v fits, and adds what was evaluated of it.
func (j *judge) fits(p *part, v any, chain int, e coverage) bool {
	var own coverage
	if e != nil {
		own = make(coverage)
	}
	j.quiet++
	found := j.apply(p, v, chain, own)
	j.quiet--
	if len(found) > 0 || j.err != nil {
		return false
	}
	maps.Copy(e, own)
	return true
}

func (j *judge) spend(checks int) bool {
	before := j.spent / unit
	if j.spent += checks; j.err == nil && j.spent > maxSteps {
		j.err = errTooCostly
	}
	if steps := j.spent/unit - before; j.err == nil && steps > 0 {
		j.err = pay(j.ctx, j.charge, steps, 0)
	}
	return j.err == nil
}

// unsaid is a misfit that nobody hears of. It is never changed.
var unsaid = misfits{{}}

// maxTold bounds the misfits that are put into words.
const maxTold = 1000

func (j *judge) misfit(format string, args ...any) misfits {
	if j.told++; j.quiet > 0 || j.told > maxTold {
		return unsaid
	}
	return misfits{{at: slices.Clone(j.at), problem: fmt.Sprintf(format, args...)}}
}

func (j *judge) wrongType(want []string, v any) misfits {
	if j.quiet > 0 {
		return j.misfit("")
	}
	found := j.misfit("expected %s, got %s", strings.Join(want, " or "), value.Kind(v))
	if _, number := v.(json.Number); number && len(want) == 1 && want[0] == "integer" {
		found = j.misfit("expected integer, got a number with a fraction")
	}
	return misfits{{at: found[0].at, problem: found[0].problem, types: want}}
}

// isSettled reports whether nothing more can change that the value does not fit,
// or would be put into words.
func (j *judge) isSettled(found misfits) bool {
	return j.err != nil || len(found) > 0 && (j.quiet > 0 || j.told > maxTold)
}

// apply checks v against p. chain counts the schemas that were applied to v
// before it. What is evaluated of v goes to e, where that is not nil.
func (j *judge) apply(p *part, v any, chain int, e coverage) (found misfits) {
	if chain > maxChain && j.err == nil {
		j.err = errCircular
	}
	if !j.spend(1) {
		return nil
	}
	if p.never {
		return j.misfit("no value is allowed here")
	}
	if p.types != nil && !slices.ContainsFunc(p.types, func(t string) bool { return j.isOf(v, t) }) {
		return j.wrongType(p.types, v)
	}
	if e == nil && (p.subs["unevaluatedProperties"] != nil || p.subs["unevaluatedItems"] != nil) {
		e = make(coverage)
	}
	for _, sub := range p.all {
		found = append(found, j.apply(sub, v, chain+1, e)...)
	}
	for _, keyword := range p.rules {
		if j.isSettled(found) {
			return found
		}
		found = append(found, j.rule(p, keyword, v, chain+1, e)...)
	}
	switch v := v.(type) {
	case map[string]any:
		found = append(found, j.object(p, v, e)...)
	case []any:
		found = append(found, j.array(p, v, e)...)
	}
	return found
}

// none explains a value that fits none of several schemas: by their types where
// these alone decide, else by the one that comes closest.
func (j *judge) none(subs []*part, v any, chain int) misfits {
	if j.quiet > 0 || j.err != nil {
		return unsaid
	}
	var types []string
	var closest misfits
	for _, sub := range subs {
		found := j.apply(sub, v, chain, nil)
		if len(found) == 1 && found[0].types != nil && len(found[0].at) == len(j.at) {
			for _, t := range found[0].types {
				if !slices.Contains(types, t) {
					types = append(types, t)
				}
			}
		} else if closest == nil || len(found) < len(closest) {
			closest = found
		}
	}
	switch {
	case len(closest) > 0:
		return closest
	case types == nil:
		return j.misfit("fits none of the alternatives")
	}
	return j.wrongType(types, v)
}

// weigh pays for comparing v as a whole.
func (j *judge) weigh(v any) bool {
	j.spend(1)
	switch v := v.(type) {
	case map[string]any:
		for _, item := range v {
			if !j.weigh(item) {
				break
			}
		}
	case []any:
		for _, item := range v {
			if !j.weigh(item) {
				break
			}
		}
	case string:
		j.spend(len(v) / unit)
	case json.Number:
		j.exact(v)
	}
	return j.err == nil
}

// exact pays for exact arithmetic on a number.
func (j *judge) exact(n json.Number) bool {
	if err := vetNumber(n.String()); err != nil && j.err == nil {
		j.err = err
	}
	checks := len(n) / 8
	if strings.ContainsAny(n.String(), "eE") {
		checks += 16
	}
	return j.spend(checks)
}

// coverage are the fields and items of a value that some schema spoke of; nil
// where nobody asks.
type coverage map[any]bool

func (e coverage) note(at any) {
	if e != nil {
		e[at] = true
	}
}

// isOf reports whether v is of a type.
func (j *judge) isOf(v any, kind string) bool {
	n, number := v.(json.Number)
	if !number || kind != "integer" {
		return value.Kind(v) == kind
	}
	return j.exact(n) && value.IsInteger(n)
}
