package caps

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"usher/caps/value"
)

// Limits bound the input of a call by themselves, as [Terms.When] does in a
// capability: what a person allows of a call that was asked about. The zero value has
// none.
type Limits struct{ list []Limit }

// ParseLimits reads an object of JSON pointers, each with its limit.
func ParseLimits(raw json.RawMessage) (Limits, error) {
	v, err := value.Decode(raw, maxSetNesting)
	if err != nil {
		return Limits{}, err
	}
	list, err := parseWhen(v)
	return Limits{list}, err
}

// JSON is what [ParseLimits] reads. The same limits give the same bytes.
func (l Limits) JSON() json.RawMessage { return whenJSON(l.list) }

// String returns e.g. "/amount is at most 100".
func (l Limits) String() string { return whenText(l.list) }

// Hold reports whether the input is surely within the limits. It is what
// [value.Decode] reads.
func (l Limits) Hold(input any) bool { return hold(l.list, input) == yes }

// Narrow says why no call would be within the limits that is narrower than one with
// this input, or nil.
func (l Limits) Narrow(input any) error {
	for i := range l.list {
		limit := &l.list[i]
		v, found := limit.find(input)
		if !found {
			return fmt.Errorf("the call has no %s: limits are on places of its input", limit.place())
		}
		n, number := v.(json.Number)
		if limit.admits(v) == yes {
			continue
		}
		if !number {
			return fmt.Errorf("%s is %s, and not %s: only numbers can be made smaller", limit.place(), viewOf(v), limit.bounds())
		}
		smaller := []any{json.Number("0"), limit.Max, limit.Min}
		if !slices.ContainsFunc(append(smaller, limit.In...), func(v any) bool {
			m, ok := v.(json.Number)
			return ok && m != "" && between(m, n) && limit.admits(m) == yes
		}) {
			return fmt.Errorf("%s is %s, and nothing smaller is %s: that would be wider than the call", limit.place(), value.Show(n), limit.bounds())
		}
	}
	if len(l.list) == 0 {
		return errors.New("there are no limits")
	}
	return nil
}

// Admit reports whether a call with the input other is within the limits, and narrower
// than one with input: numbers that the limits are on may be smaller in it, no less than
// zero, and all else is the same.
func (l Limits) Admit(input, other any) bool {
	if !l.Hold(other) {
		return false
	}
	for i := range l.list {
		x, _ := l.list[i].find(input)
		y, _ := l.list[i].find(other)
		n, isNumber := x.(json.Number)
		m, areNumbers := y.(json.Number)
		if isNumber && areNumbers && between(m, n) {
			other = instead(other, l.list[i].At, x)
		}
	}
	return same(input, other) == yes
}

// between reports whether m lies between 0 and n.
func between(m, n json.Number) bool {
	if c, ok := value.Compare(n, "0"); ok && c < 0 {
		return atMost(n, m) == yes && atMost(m, json.Number("0")) == yes
	}
	return atMost(json.Number("0"), m) == yes && atMost(m, n) == yes
}

// instead returns v with x at a place that it has.
func instead(v any, at []string, x any) any {
	if len(at) == 0 {
		return x
	}
	switch v := v.(type) {
	case map[string]any:
		out := maps.Clone(v)
		out[at[0]] = instead(v[at[0]], at[1:], x)
		return out
	case []any:
		i, ok := value.Index(at[0])
		if !ok || i >= len(v) {
			return v
		}
		out := slices.Clone(v)
		out[i] = instead(v[i], at[1:], x)
		return out
	}
	return v
}
