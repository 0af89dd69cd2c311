package caps

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"usher/caps/value"
)

// Limit bounds one place in the input of a call, in the terms of Agent-Auth. Of
// what is set in it everything has to hold; equality is In with one value. Change
// nothing in it: it is shared.
type Limit struct {
	At    []string    // segments of the JSON pointer; none for the whole input
	Max   json.Number // at most; "" for no bound
	Min   json.Number // at least; "" for no bound
	In    []any       // one of these; nil for no bound
	NotIn []any       // of the type of one of these, and none of them; nil for no bound
}

// Bounds of the limits of one capability.
const (
	maxLimits   = 32
	maxValues   = 256     // of one list
	maxWhen     = 8 << 10 // bytes, as JSON
	maxPointer  = 256     // bytes
	maxSegments = 16
)

// parseWhen reads an object of JSON pointers (RFC 6901), each with a value that is
// no object, or with an object of operators.
func parseWhen(v any) ([]Limit, error) {
	fields, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf(`it is %s: write an object of JSON pointers, for example {"/amount": {"max": 100}}`, value.A(v))
	}
	if len(fields) == 0 {
		return nil, errors.New("it is empty: name a limit, or leave it out")
	}
	var list []Limit
	for _, pointer := range slices.Sorted(maps.Keys(fields)) {
		at, err := parsePointer(pointer)
		if err != nil {
			return nil, fmt.Errorf("pointer %s: %w", value.Quote(pointer), err)
		}
		l, err := parseLimit(fields[pointer])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", value.Quote(pointer), err)
		}
		l.At = at
		list = append(list, l)
	}
	return list, checkBounds(list)
}

func checkBounds(list []Limit) error {
	if len(list) > maxLimits {
		return fmt.Errorf("it has limits on %d places: use at most %d", len(list), maxLimits)
	}
	for _, l := range list {
		if n := max(len(l.In), len(l.NotIn)); n > maxValues {
			return fmt.Errorf("a list has %d values: use at most %d", n, maxValues)
		}
	}
	if n := len(whenJSON(list)); n > maxWhen {
		return fmt.Errorf("it takes %d bytes: use at most %d", n, maxWhen)
	}
	return nil
}

func parsePointer(text string) ([]string, error) {
	switch {
	case text == "":
		return nil, nil
	case text[0] != '/':
		return nil, errors.New(`a JSON pointer begins with a slash: write for example "/amount"`)
	case len(text) > maxPointer:
		return nil, fmt.Errorf("%d bytes long: use at most %d", len(text), maxPointer)
	}
	segments := value.Keys(text)
	if len(segments) > maxSegments {
		return nil, fmt.Errorf("it has %d segments: use at most %d", len(segments), maxSegments)
	}
	if value.Pointer(segments...) != text {
		return nil, errors.New(`"~" stands before 0 or 1 only: write ~0 for a tilde and ~1 for a slash`)
	}
	return segments, nil
}

func parseLimit(v any) (l Limit, err error) {
	operators, ok := v.(map[string]any)
	if !ok {
		l.In = []any{v}
		return l, countable(l.In)
	}
	if len(operators) == 0 {
		return l, errors.New("the limit is empty: write max, min, in or not_in, or the value itself")
	}
	for _, op := range slices.Sorted(maps.Keys(operators)) {
		switch operand := operators[op]; op {
		case "max":
			l.Max, err = bound(op, operand)
		case "min":
			l.Min, err = bound(op, operand)
		case "in":
			l.In, err = valuesOf(op, operand)
		case "not_in":
			l.NotIn, err = valuesOf(op, operand)
		default:
			err = fmt.Errorf("unknown operator %s: the operators are max, min, in and not_in", value.Quote(op))
		}
		if err != nil {
			return Limit{}, err
		}
	}
	return l, nil
}

func bound(op string, v any) (json.Number, error) {
	n, ok := v.(json.Number)
	if !ok {
		return "", fmt.Errorf("%s is %s: write a number", op, value.A(v))
	}
	return n, countable([]any{n})
}

func valuesOf(op string, v any) ([]any, error) {
	list, ok := v.([]any)
	switch {
	case !ok:
		return nil, fmt.Errorf("%s is %s: write a list of values", op, value.A(v))
	case len(list) == 0:
		return nil, fmt.Errorf("%s is empty: name a value, or leave it out", op)
	}
	return list, countable(list)
}

// countable refuses numbers that cannot be compared.
func countable(list []any) error {
	for _, v := range list {
		if n, ok := v.(json.Number); ok {
			if _, ok := value.Compare(n, n); !ok {
				return fmt.Errorf("the number %s is too long, or its exponent is: use at most 1024 digits, and 18 for an exponent", value.Show(n))
			}
		}
	}
	return nil
}

// Pointer is At as a JSON pointer.
func (l *Limit) Pointer() string { return value.Pointer(l.At...) }

// whenJSON writes limits as [parseWhen] reads them. The same limits give the
// same bytes.
func whenJSON(list []Limit) []byte {
	out := make(map[string]any, len(list))
	for i := range list {
		l := &list[i]
		operators := map[string]any{}
		if l.Max != "" {
			operators["max"] = l.Max
		}
		if l.Min != "" {
			operators["min"] = l.Min
		}
		if l.In != nil {
			operators["in"] = l.In
		}
		if l.NotIn != nil {
			operators["not_in"] = l.NotIn
		}
		out[l.Pointer()] = operators
		if len(operators) == 1 && len(l.In) == 1 {
			if _, object := l.In[0].(map[string]any); !object {
				out[l.Pointer()] = l.In[0]
			}
		}
	}
	return value.Append(nil, out)
}

// place names what the limit is about.
func (l *Limit) place() string {
	pointer := l.Pointer()
	switch {
	case pointer == "":
		return "the input"
	case strings.ContainsFunc(pointer, func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) }):
		return value.Quote(pointer)
	}
	return pointer
}

// bounds says what the value has to be: "at most 100".
func (l *Limit) bounds() string {
	var parts []string
	if l.Min != "" {
		parts = append(parts, "at least "+string(l.Min))
	}
	if l.Max != "" {
		parts = append(parts, "at most "+string(l.Max))
	}
	switch {
	case len(l.In) == 1:
		parts = append(parts, texts(l.In))
	case l.In != nil:
		parts = append(parts, "one of "+texts(l.In))
	}
	if l.NotIn != nil {
		parts = append(parts, "none of "+texts(l.NotIn))
	}
	return strings.Join(parts, " and ")
}

func texts(list []any) string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = visible(string(value.Append(nil, v)))
	}
	return strings.Join(out, ", ")
}

// visible escapes what cannot be seen, or moves what can: the limits of others stand
// in prompts.
func visible(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func whenText(list []Limit) string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = list[i].place() + " is " + list[i].bounds()
	}
	return strings.Join(out, " and ")
}
