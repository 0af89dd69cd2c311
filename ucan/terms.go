package ucan

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"usher/caps"
	"usher/caps/value"
)

// A token carries of the terms of a capability what the other venues understand in
// the same way: a native one has its limits as policy and its end as expiry, as far as
// they have an exact form there. Whatever has none is refused when it is to be signed.

// errTerms is in the error of a capability whose terms a token cannot carry.
var errTerms = errors.New("a token cannot carry these terms")

// Carries says why a token of a format cannot carry a capability with its terms, or nil.
func Carries(c caps.Capability, format Format) error {
	_, err := policyFor(c, format)
	return err
}

// policyFor returns the policy of a capability's limits, in the form in which
// [parseStatement] reads it.
func policyFor(c caps.Capability, format Format) (pol []any, err error) {
	refuse := func(why string) ([]any, error) {
		return nil, fmt.Errorf("%s: %w: %s", c, errTerms, why)
	}
	switch {
	case c.IsPlain():
		return nil, nil
	case c.Denies():
		return refuse("deny; leave out what is not to be given")
	case c.Asks():
		return refuse("ask; nobody is asked elsewhere")
	case format == JWT:
		return refuse("a JWT has with and can alone; use the native format, or give the capability without when and until")
	}
	for _, l := range c.When() {
		statements, err := statementsOf(&l)
		if err != nil {
			return refuse(err.Error())
		}
		pol = append(pol, statements...)
	}
	return pol, nil
}

var fieldForm = value.Form(`^[A-Za-z_][A-Za-z0-9_]*$`)

// selectorOf is a pointer as a selector. A number could be a key or an index.
func selectorOf(l *caps.Limit) (string, error) {
	var b strings.Builder
	for _, segment := range l.At {
		if !fieldForm().MatchString(segment) {
			return "", fmt.Errorf("the pointer %s has no form in a policy: it takes names of letters, digits and _", l.Pointer())
		}
		b.WriteString("." + segment)
	}
	switch {
	case len(l.At) == 0:
		return "", errors.New("a limit on the whole input has no form in a policy")
	case "."+l.At[0] == withSelector:
		return "", errors.New("the argument \"with\" of a policy is the resource")
	}
	return b.String(), nil
}

// statementsOf is a limit as statements of a policy, all of which have to hold. To a
// policy a missing key is null, so null is no value to compare with.
func statementsOf(l *caps.Limit) (list []any, err error) {
	at, err := selectorOf(l)
	if err != nil {
		return nil, err
	}
	for _, b := range []struct {
		op string
		n  json.Number
	}{{"<=", l.Max}, {">=", l.Min}} {
		if b.n == "" {
			continue
		}
		n, err := literalOf(b.n)
		if err != nil {
			return nil, err
		}
		list = append(list, []any{b.op, at, n})
	}
	if l.In != nil {
		equals, err := oneOf(at, l.In)
		if err != nil {
			return nil, err
		}
		list = append(list, equals)
	}
	if l.NotIn != nil && allNumbers(l.NotIn) {
		for _, v := range l.NotIn {
			n, err := literalOf(v)
			if err != nil {
				return nil, err
			}
			list = append(list, []any{"or", []any{[]any{"<", at, n}, []any{">", at, n}}})
		}
	} else if l.NotIn != nil {
		equals, err := oneOf(at, l.NotIn)
		if err != nil {
			return nil, err
		}
		kinds, err := kindsOf(at, l.NotIn)
		if err != nil {
			return nil, err
		}
		list = append(list, []any{"not", equals}, []any{"or", kinds})
	}
	return list, nil
}

func oneOf(at string, values []any) (any, error) {
	equals := make([]any, len(values))
	for i, v := range values {
		n, err := literalOf(v)
		if err != nil {
			return nil, err
		}
		equals[i] = []any{"==", at, n}
	}
	if len(equals) == 1 {
		return equals[0], nil
	}
	return []any{"or", equals}, nil
}

// allNumbers reports whether a list has numbers alone. Of these a policy says that the value
// is less or more: readers differ in which numbers they take for equal, and where one cannot
// compare, that denies.
func allNumbers(list []any) bool {
	return !slices.ContainsFunc(list, func(v any) bool { return value.Kind(v) != "number" })
}

// kindsOf tells of a value that it has the type of one of the list.
func kindsOf(at string, values []any) (kinds []any, err error) {
	var texts, marks bool
	for _, v := range values {
		switch v.(type) {
		case string:
			if !texts {
				kinds = append(kinds, []any{"like", at, "*"})
			}
			texts = true
		case bool:
			if !marks {
				kinds = append(kinds, []any{"==", at, true}, []any{"==", at, false})
			}
			marks = true
		default:
			return nil, errors.New("not_in of numbers beside other values has no exact form in a policy: use max and min, or in")
		}
	}
	return kinds, nil
}

// literalOf is a value as a policy compares it.
func literalOf(v any) (any, error) {
	switch v := v.(type) {
	case string, bool:
		return v, nil
	case json.Number:
		switch n := numberArgument(v).(type) {
		case int64:
			if n >= -maxInt53 && n <= maxInt53 {
				return n, nil
			}
		case float64:
			return n, nil
		}
		return nil, fmt.Errorf("the number %s has no exact form in a policy", v)
	}
	return nil, errors.New("in a policy only texts, numbers, true and false are compared")
}
