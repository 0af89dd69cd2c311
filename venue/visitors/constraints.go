package visitors

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"usher/caps"
	"usher/caps/value"
	"usher/ucan"
)

// Constraints bound the arguments of a call: by each name an exact value, or an object of
// operators (max, min, in, not_in). All of them have to hold. They are kept as the limits
// of a capability, on the same places.
type Constraints struct {
	limits caps.Limits
	when   json.RawMessage // the same as JSON; nil where there are none
}

func newConstraints(l caps.Limits) Constraints {
	when := l.JSON()
	if string(when) == "{}" {
		return Constraints{}
	}
	return Constraints{l, when}
}

// field is a name that a policy can select; "with" is the resource there.
var field = value.Form(`^[A-Za-z_][A-Za-z0-9_]*$`)

// maxField bounds a name, and a value that may become a part of a resource, in bytes.
const maxField = 128

var operators = []string{"in", "max", "min", "not_in"}

// maxNesting is how deep constraints and arguments may be.
const maxNesting = 32

// ParseConstraints reads constraints; null and nothing are none. What is wrong is a [*Refusal].
func ParseConstraints(raw json.RawMessage) (Constraints, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return Constraints{}, nil
	}
	fields, err := value.Object(raw, maxNesting)
	if err != nil {
		return Constraints{}, refuse(InvalidRequest, "the constraints are no object of names: %v", err)
	}
	var unknown []string
	when := make(map[string]any, len(fields))
	for name, v := range fields {
		if len(name) > maxField || !field().MatchString(name) || name == "with" {
			return Constraints{}, refuse(InvalidRequest, "a constraint on %s is not taken: it is on an argument whose name has letters, digits and _, and is not with", value.Quote(name))
		}
		ops, isObject := v.(map[string]any)
		if isObject {
			for op := range ops {
				if !slices.Contains(operators, op) && !slices.Contains(unknown, op) {
					unknown = append(unknown, op)
				}
			}
		} else if v == nil {
			return Constraints{}, refuse(InvalidRequest, "the constraint on %s is null: give the value that it has to have", name)
		}
		when["/"+name] = v
	}
	if slices.Sort(unknown); len(unknown) > 0 {
		e := refuse(unknownOperator, "unknown operators in the constraints; those that are known are max, min, in and not_in")
		e.Extra = map[string]any{"operators": unknown, "unknown_operators": unknown}
		return Constraints{}, e
	}
	if len(when) == 0 {
		return Constraints{}, nil
	}
	limits, err := caps.ParseLimits(value.Append(nil, when))
	if err == nil {
		err = checkCarry(limits)
	}
	if err != nil {
		return Constraints{}, refuse(InvalidRequest, "the constraints are not taken: %v", err)
	}
	return newConstraints(limits), nil
}

// checkCarry reports what a delegation cannot say of limits.
func checkCarry(l caps.Limits) error {
	c, err := anything(l.JSON())
	if err != nil {
		return err
	}
	return ucan.Carries(c, ucan.Native)
}

// anything is a capability under terms, by which these are held against others.
func anything(when json.RawMessage) (caps.Capability, error) {
	return caps.MustCapability("w/any", "crud").On(caps.Terms{When: when})
}

// IsZero reports whether there are none.
func (c Constraints) IsZero() bool { return c.when == nil }

// fields are what was constrained, by the names of the arguments.
func (c Constraints) fields() map[string]any {
	if c.IsZero() {
		return nil
	}
	v, err := value.Object(c.when, maxNesting)
	if err != nil { // it was written here
		panic(err)
	}
	out := make(map[string]any, len(v))
	for pointer, limit := range v {
		out[pointer[1:]] = limit
	}
	return out
}

// MarshalJSON writes them as [ParseConstraints] reads them.
func (c Constraints) MarshalJSON() ([]byte, error) {
	fields := c.fields()
	if fields == nil {
		return []byte("null"), nil
	}
	return value.Append(nil, fields), nil
}

// UnmarshalJSON is [ParseConstraints].
func (c *Constraints) UnmarshalJSON(raw []byte) (err error) {
	*c, err = ParseConstraints(raw)
	return err
}

// String returns e.g. "/amount is at most 100"; "" where there are none.
func (c Constraints) String() string {
	if c.IsZero() {
		return ""
	}
	return c.limits.String()
}

// and is what both allow. Constraints that no call could keep to are refused.
func (c Constraints) and(d Constraints) (Constraints, error) {
	switch {
	case c.IsZero():
		return d, nil
	case d.IsZero():
		return c, nil
	}
	set := caps.Unrestricted()
	for _, one := range []Constraints{c, d} {
		limited, err := anything(one.when)
		if err != nil {
			return Constraints{}, err
		}
		set = set.Intersect(caps.Of(limited))
	}
	for both := range set.All() {
		limits := both.Limits()
		if err := checkCarry(limits); err != nil {
			return Constraints{}, refuse(InvalidRequest, "the constraints are not taken together: %v", err)
		}
		return newConstraints(limits), nil
	}
	return Constraints{}, refuse(InvalidRequest, "no call could keep to these constraints: %s, and %s", c, d)
}

// covers reports whether all that d allows is allowed by c, as far as that is surely so.
func (c Constraints) covers(d Constraints) bool {
	if c.IsZero() {
		return true
	}
	if d.IsZero() {
		return false
	}
	wide, err := anything(c.when)
	if err != nil {
		return false
	}
	narrow, err := anything(d.when)
	return err == nil && wide.Covers(narrow)
}

// violation is one constraint that a call does not keep to.
type violation struct {
	Field      string         `json:"field"`
	Constraint map[string]any `json:"constraint"`
	Actual     any            `json:"actual,omitempty"`
}

// check lists what arguments, as [value.Decode] reads them, violate.
func (c Constraints) check(args map[string]any) (list []violation) {
	if c.limits.Hold(args) {
		return nil
	}
	fields := c.fields()
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		ops, isObject := fields[name].(map[string]any)
		if !isObject {
			ops = map[string]any{"in": []any{fields[name]}}
		}
		for _, op := range slices.Sorted(maps.Keys(ops)) {
			limits, err := caps.ParseLimits(value.Append(nil, map[string]any{"/" + name: map[string]any{op: ops[op]}}))
			if err == nil && limits.Hold(args) {
				continue
			}
			said := map[string]any{op: ops[op]}
			if !isObject {
				said = map[string]any{"eq": fields[name]}
			}
			list = append(list, violation{name, said, args[name]})
		}
	}
	return list
}

// exact is the text that the constraints fix an argument to.
func (c Constraints) exact(name string) (string, bool) {
	switch v := c.fields()[name].(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	}
	return "", false
}

// fill fills the places {field} of a resource with what the constraints fix: a place that
// is not fixed ends the resource before it.
func (c Constraints) fill(one caps.Capability) (caps.Capability, error) {
	var segments []string
	for s := range strings.SplitSeq(strings.TrimSuffix(one.With(), "/"), "/") {
		name, isPlace := strings.CutPrefix(s, "{")
		if isPlace {
			name, isPlace = strings.CutSuffix(name, "}")
		}
		if !isPlace {
			segments = append(segments, s)
			continue
		}
		text, fixed := c.exact(name)
		if !fixed {
			break
		}
		if len(text) > maxField || !segment().MatchString(text) {
			return caps.Capability{}, refuse(InvalidRequest, "the value of %s cannot stand in the path of a resource", name)
		}
		segments = append(segments, text)
	}
	return caps.NewCapability(strings.Join(segments, "/"), string(one.Can()))
}

// segment is a value that may become a part of a resource.
var segment = value.Form(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// limit returns a capability under the constraints.
func (c Constraints) limit(one caps.Capability) (caps.Capability, error) {
	given, err := c.fill(one)
	if err != nil || c.IsZero() {
		return given, err
	}
	if given, err = given.On(caps.Terms{When: c.when}); err != nil {
		return given, fmt.Errorf("constrain %s: %w", one, err)
	}
	return given, nil
}
