package ucan

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/ipld/go-ipld-prime"
	"github.com/ucan-wg/go-ucan/pkg/policy"
	"github.com/ucan-wg/go-ucan/pkg/policy/literal"

	"usher/caps"
)

// A token carries of the terms of a capability what the other venues understand in
// the same way: a native one has its limits as policy and its end as expiry, as far as
// they have an exact form there. Whatever has none is refused when it is to be signed.

// errTerms is in the error of a capability whose terms a token cannot carry.
var errTerms = errors.New("a token cannot carry these terms")

// Carries says why a token of a format cannot carry a capability with its terms, or nil.
func Carries(c caps.Capability, format Format) error {
	_, err := carried(c, format)
	return err
}

// carried returns the policy of a capability's limits.
func carried(c caps.Capability, format Format) (pol []policy.Constructor, err error) {
	refuse := func(why string) ([]policy.Constructor, error) {
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

var fieldForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// selectorOf is a pointer as a selector. A number could be a key or an index.
func selectorOf(l *caps.Limit) (string, error) {
	var b strings.Builder
	for _, segment := range l.At {
		if !fieldForm.MatchString(segment) {
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
func statementsOf(l *caps.Limit) (list []policy.Constructor, err error) {
	at, err := selectorOf(l)
	if err != nil {
		return nil, err
	}
	for _, b := range []struct {
		n  json.Number
		op func(string, ipld.Node) policy.Constructor
	}{{l.Max, policy.LessThanOrEqual}, {l.Min, policy.GreaterThanOrEqual}} {
		if b.n == "" {
			continue
		}
		n, err := literalOf(b.n)
		if err != nil {
			return nil, err
		}
		list = append(list, b.op(at, n))
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
			list = append(list, policy.Or(policy.LessThan(at, n), policy.GreaterThan(at, n)))
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
		list = append(list, policy.Not(equals), policy.Or(kinds...))
	}
	return list, nil
}

func oneOf(at string, values []any) (policy.Constructor, error) {
	equals := make([]policy.Constructor, len(values))
	for i, v := range values {
		n, err := literalOf(v)
		if err != nil {
			return nil, err
		}
		equals[i] = policy.Equal(at, n)
	}
	if len(equals) == 1 {
		return equals[0], nil
	}
	return policy.Or(equals...), nil
}

// allNumbers reports whether a list has numbers alone. Of these a policy says that the value
// is less or more: readers differ in which numbers they take for equal, and where one cannot
// compare, that denies.
func allNumbers(list []any) bool {
	for _, v := range list {
		if _, ok := v.(json.Number); !ok {
			return false
		}
	}
	return true
}

// kindsOf tells of a value that it has the type of one of the list.
func kindsOf(at string, values []any) (kinds []policy.Constructor, err error) {
	seen := map[string]bool{}
	for _, v := range values {
		kind := fmt.Sprintf("%T", v)
		switch v.(type) {
		case string:
			if !seen[kind] {
				kinds = append(kinds, policy.Like(at, "*"))
			}
		case bool:
			if !seen[kind] {
				kinds = append(kinds, policy.Equal(at, literal.Bool(true)), policy.Equal(at, literal.Bool(false)))
			}
		default:
			return nil, errors.New("not_in of numbers beside other values has no exact form in a policy: use max and min, or in")
		}
		seen[kind] = true
	}
	return kinds, nil
}

// maxSafe is what a policy takes of whole numbers.
const maxSafe = 1<<53 - 1

func literalOf(v any) (ipld.Node, error) {
	switch v := v.(type) {
	case string:
		return literal.String(v), nil
	case bool:
		return literal.Bool(v), nil
	case json.Number:
		switch n := numberArgument(v).(type) {
		case int64:
			if n >= -maxSafe && n <= maxSafe {
				return literal.Int(n), nil
			}
		case float64:
			return literal.Float(n), nil
		}
		return nil, fmt.Errorf("the number %s has no exact form in a policy", v)
	}
	return nil, errors.New("in a policy only texts, numbers, true and false are compared")
}
