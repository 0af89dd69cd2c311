package ucan

import (
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strings"
)

// statement is one condition of a UCAN 1.0 policy (delegation specification,
// "Policy"), matched against the arguments of a call. Delegations that Usher
// issues hold none: their resource is read apart from the policy. Numbers are
// equal by value whatever their type; a key that is missing is null; a selector
// that leads through something else denies, also under "not".
type statement struct {
	op    string
	sel   selector
	value any         // == != < <= > >= like
	sub   []statement // not and or all any
}

// parseStatement reads what decodeValue gives.
func parseStatement(item any, depth int) (statement, error) {
	s, ok := item.([]any)
	if !ok || depth <= 0 || len(s) < 2 || len(s) > 3 {
		return statement{}, errors.New("a statement is a list of an operator and one or two operands")
	}
	op, _ := s[0].(string)
	st := statement{op: op}
	want := 3
	switch op {
	case "not", "and", "or":
		want = 2
	case "==", "!=", "<", "<=", ">", ">=", "like", "all", "any":
	default:
		return st, fmt.Errorf("operator %s is unknown", quoteShort(fmt.Sprint(s[0])))
	}
	if len(s) != want {
		return st, fmt.Errorf("operator %q takes %d operands", op, want-1)
	}
	operand := s[want-1]
	if want == 3 {
		text, ok := s[1].(string)
		if !ok {
			return st, fmt.Errorf("the first operand of %q is a selector", op)
		}
		var err error
		if st.sel, err = parseSelector(text); err != nil {
			return st, err
		}
	}
	var parts []any
	switch op {
	case "and", "or":
		if parts, ok = operand.([]any); !ok {
			return st, fmt.Errorf("the operand of %q is a list", op)
		}
	case "not", "all", "any":
		parts = []any{operand}
	case "like":
		pattern, ok := operand.(string)
		if !ok || !validGlob(pattern) {
			return st, errors.New(`a pattern of "like" is a text in which a backslash stands before a star only`)
		}
		st.value = pattern
	default:
		st.value = operand
	}
	for _, p := range parts {
		sub, err := parseStatement(p, depth-1)
		if err != nil {
			return st, err
		}
		st.sub = append(st.sub, sub)
	}
	return st, nil
}

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

func (s *statement) match(args any) verdict {
	var at any
	if s.sel != nil {
		var ok bool
		if at, ok = s.sel.find(args); !ok {
			return noData
		}
	}
	switch s.op {
	case "==":
		return verdictOf(equal(at, s.value))
	case "!=":
		return verdictOf(!equal(at, s.value))
	case "<", "<=", ">", ">=":
		a, b := number(at), number(s.value)
		if a == nil || b == nil {
			return isFalse
		}
		c := a.Cmp(b)
		return verdictOf(c < 0 && s.op[0] == '<' || c > 0 && s.op[0] == '>' || c == 0 && len(s.op) == 2)
	case "like":
		text, ok := at.(string)
		return verdictOf(ok && glob(s.value.(string), text))
	case "not":
		switch v := s.sub[0].match(args); v {
		case noData:
			return v
		default:
			return verdictOf(v == isFalse)
		}
	case "and":
		for i := range s.sub {
			if v := s.sub[i].match(args); v != isTrue {
				return v
			}
		}
		return isTrue
	case "or":
		for i := range s.sub {
			if v := s.sub[i].match(args); v != isFalse {
				return v
			}
		}
		return verdictOf(len(s.sub) == 0)
	}
	return s.matchEach(at)
}

// matchEach is "all" and "any", over a list or the values of a map.
func (s *statement) matchEach(at any) verdict {
	items, ok := itemsOf(at)
	if !ok {
		return isFalse
	}
	stop := verdictOf(s.op == "any")
	for _, item := range items {
		if v := s.sub[0].match(item); v == noData || v == stop {
			return v
		}
	}
	return verdictOf(s.op == "all")
}

// equal compares by value; 1 and 1.0 are the same number.
func equal(a, b any) bool {
	if x, y := number(a), number(b); x != nil && y != nil {
		return x.Cmp(y) == 0
	}
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			if w, ok := b[k]; !ok || !equal(v, w) {
				return false
			}
		}
		return true
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

func validGlob(p string) bool {
	for i := 0; i < len(p); i++ {
		if p[i] == '\\' {
			if i++; i == len(p) || p[i] != '*' {
				return false
			}
		}
	}
	return true
}

// glob matches "*" as any run of bytes and "\*" as a star. It backtracks to the
// last star only, so its cost is at most the product of the lengths.
func glob(p, s string) bool {
	star, mark := -1, 0
	i, j := 0, 0
	for j < len(s) {
		switch {
		case i < len(p) && p[i] == '*':
			star, mark = i, j
			i++
		case i+1 < len(p) && p[i] == '\\' && p[i+1] == s[j]:
			i, j = i+2, j+1
		case i < len(p) && p[i] != '\\' && p[i] == s[j]:
			i, j = i+1, j+1
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(p[i:], "*") == ""
}
