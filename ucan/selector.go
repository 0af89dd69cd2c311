package ucan

import (
	"fmt"
	"strconv"
	"strings"

	"usher/caps/value"
)

// selector finds one value in the arguments of a call: ".", ".field",
// `["field"]`, "[3]", "[-1]", "[]" and runs of them, as a text for a field, a number
// for an item, and nil for every item. Optional segments ("?") and slices are refused
// when the token is read.
type selector []any

const maxSelectorSteps = 16

// segment is a field, a number, or a field in quotes.
var segment = value.Form(`^(?:\.([A-Za-z_][A-Za-z0-9_$-]*)|\[(-?[0-9]*)\]|\["([^"\\:\]]+)"\])`)

func parseSelector(text string) (selector, error) {
	refuse := func(why string) (selector, error) {
		return nil, fmt.Errorf("selector %s: %s", quoteShort(text), why)
	}
	rest, dot := strings.CutPrefix(text, ".")
	if !dot {
		return refuse("it begins with a dot")
	}
	if rest != "" && rest[0] != '[' {
		rest = text
	}
	sel := selector{}
	for rest != "" {
		found := segment().FindStringSubmatch(rest)
		switch {
		case found == nil:
			return refuse("expected .field, [index] or []; slices, escapes and ? are not taken")
		case len(sel) == maxSelectorSteps:
			return refuse("it has too many segments")
		}
		rest = rest[len(found[0]):]
		switch field, index := found[1]+found[3], found[2]; {
		case field != "":
			sel = append(sel, field)
		case index == "":
			sel = append(sel, nil)
		default:
			n, err := strconv.Atoi(index)
			if err != nil || strconv.Itoa(n) != index {
				return refuse("an index is a plain number")
			}
			sel = append(sel, n)
		}
	}
	return sel, nil
}

// find returns the value, null for a key that a map lacks; ok is false where the
// path leads through something else than it says.
func (sel selector) find(v any) (found any, ok bool) {
	for _, step := range sel {
		switch step := step.(type) {
		case string:
			m, isMap := v.(map[string]any)
			if !isMap {
				return nil, false
			}
			v = m[step]
		case int:
			list, _ := v.([]any)
			if step < 0 {
				step += len(list)
			}
			if step < 0 || step >= len(list) {
				return nil, false
			}
			v = list[step]
		default:
			items, ok := itemsOf(v)
			if !ok {
				return nil, false
			}
			v = items
		}
	}
	return v, true
}

// itemsOf returns a list itself, or the values of a map.
func itemsOf(v any) (items []any, ok bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case map[string]any:
		for _, k := range keysInOrder(v) {
			items = append(items, v[k])
		}
		return items, true
	}
	return nil, false
}
