package ucan

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"
)

// condition is one statement of a UCAN 1.0 policy (delegation specification,
// "Policy"), asked about the arguments of a call. Delegations that Usher issues hold
// none: their resource is read apart from the policy. Numbers are equal by value
// whatever their type; a key that is missing is null; a selector that leads through
// something else denies, also under "not".
type condition func(args any) verdict

// verdict is what a statement says; noData aborts the whole policy.
type verdict int8

const (
	isFalse verdict = iota
	isTrue
	noData
)

func verdictOf(ok bool) verdict {
	if ok {
		return isTrue
	}
	return isFalse
}

// parseStatement reads a decoded statement.
func parseStatement(item any, depth int) (condition, error) {
	s, _ := item.([]any)
	if depth <= 0 || len(s) < 2 || len(s) > 3 {
		return nil, errors.New("a statement is a list of an operator and one or two operands")
	}
	op, _ := s[0].(string)
	operand := s[len(s)-1]
	list, isList := operand.([]any)
	switch op {
	case "not", "all", "any":
		list = []any{operand}
	case "and", "or":
		if !isList {
			return nil, fmt.Errorf("the operand of %q is a list", op)
		}
	default:
		list = nil
	}
	var parts []condition
	for _, p := range list {
		part, err := parseStatement(p, depth-1)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	if op == "not" || op == "and" || op == "or" {
		if len(s) != 2 {
			return nil, fmt.Errorf("operator %q takes one operand", op)
		}
		return join(op, parts), nil
	}
	text, ok := s[1].(string)
	if len(s) != 3 || !ok {
		return nil, fmt.Errorf("operator %s takes a selector and another operand, or is unknown", quoteShort(fmt.Sprint(s[0])))
	}
	sel, err := parseSelector(text)
	if err != nil {
		return nil, err
	}
	holds, err := parseTest(op, operand, parts)
	if err != nil {
		return nil, err
	}
	return func(args any) verdict {
		at, ok := sel.find(args)
		if !ok {
			return noData
		}
		return holds(at)
	}, nil
}

// join is "not", "and" and "or".
func join(op string, parts []condition) condition {
	return func(args any) verdict {
		each := func(i int) verdict { return parts[i](args) }
		switch {
		case op == "and" || len(parts) == 0:
			return fold(len(parts), isFalse, each)
		case op == "or":
			return fold(len(parts), isTrue, each)
		}
		v := each(0)
		if v != noData {
			v = verdictOf(v == isFalse)
		}
		return v
	}
}

// fold returns the first of n verdicts that aborts or is stop, or else the contrary.
func fold(n int, stop verdict, each func(i int) verdict) verdict {
	for i := range n {
		if v := each(i); v == noData || v == stop {
			return v
		}
	}
	return verdictOf(stop == isFalse)
}

// parseTest reads what a value that was selected is held against.
func parseTest(op string, operand any, parts []condition) (condition, error) {
	switch op {
	case "==", "!=":
		return func(v any) verdict { return verdictOf(equal(v, operand) == (op == "==")) }, nil
	case "<", "<=", ">", ">=":
		return func(v any) verdict {
			a, b := number(v), number(operand)
			if a == nil || b == nil {
				return isFalse
			}
			c := a.Cmp(b)
			return verdictOf(c < 0 && op[0] == '<' || c > 0 && op[0] == '>' || c == 0 && len(op) == 2)
		}, nil
	case "like":
		pattern, isText := operand.(string)
		g, ok := parseGlob(pattern)
		if !isText || !ok {
			return nil, errors.New(`a pattern of "like" is a text in which a backslash stands before a star only`)
		}
		return func(v any) verdict {
			text, ok := v.(string)
			return verdictOf(ok && g.match(text))
		}, nil
	case "all", "any":
		return func(v any) verdict {
			items, ok := itemsOf(v)
			if !ok {
				return isFalse
			}
			return fold(len(items), verdictOf(op == "any"), func(i int) verdict { return parts[0](items[i]) })
		}, nil
	}
	return nil, fmt.Errorf("operator %s is unknown", quoteShort(op))
}

// equal compares by value; 1 and 1.0 are the same number.
func equal(a, b any) bool {
	if x, y := number(a), number(b); x != nil && y != nil {
		return x.Cmp(y) == 0
	}
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	}
	return reflect.DeepEqual(a, b)
}

// number is exact: a float64 does not hold every 53-bit integer's neighbours,
// and an order that rounds would make an unequal pair equal.
func number(v any) *big.Rat {
	switch v := v.(type) {
	case int64:
		return new(big.Rat).SetInt64(v)
	case float64:
		return new(big.Rat).SetFloat64(v) // nil for what is not a number
	}
	return nil
}

// glob is a pattern, split at its stars: each stands for any text, and "\*" for a
// star.
type glob []string

func parseGlob(pattern string) (glob, bool) {
	const star = "\xff" // stands in no text
	g := strings.Split(strings.ReplaceAll(pattern, `\*`, star), "*")
	for i, part := range g {
		if strings.Contains(part, `\`) {
			return nil, false
		}
		g[i] = strings.ReplaceAll(part, star, "*")
	}
	return g, true
}

func (g glob) match(text string) bool {
	last := len(g) - 1
	rest, ok := strings.CutPrefix(text, g[0])
	if last == 0 {
		return ok && rest == ""
	}
	for _, part := range g[1:last] {
		var found bool
		if _, rest, found = strings.Cut(rest, part); !found {
			return false
		}
	}
	return ok && strings.HasSuffix(rest, g[last])
}
