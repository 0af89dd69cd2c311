package ucan

import (
	"fmt"
	"strconv"
	"strings"
)

// selector finds one value in the arguments of a call: ".", ".field",
// `["field"]`, "[3]", "[-1]", "[]" and runs of them. Optional segments ("?") and
// slices are refused when the token is read.
type selector []segment

type segment struct {
	field string
	index int
	kind  byte // 'f' field, 'i' index, '*' every item
}

const maxSelectorSteps = 16

func parseSelector(text string) (selector, error) {
	bad := func(why string) (selector, error) {
		return nil, fmt.Errorf("selector %s: %s", quoteShort(text), why)
	}
	if !strings.HasPrefix(text, ".") {
		return bad("it begins with a dot")
	}
	sel := selector{} // never nil: "." selects all
	rest := text
	if text == "." {
		return sel, nil
	}
	if strings.HasPrefix(text, ".[") {
		rest = text[1:]
	}
	for rest != "" {
		if len(sel) == maxSelectorSteps {
			return bad("it has too many segments")
		}
		if rest[0] == '.' {
			end := strings.IndexAny(rest[1:], ".[")
			if end < 0 {
				end = len(rest) - 1
			}
			name := rest[1 : 1+end]
			if !validField(name) {
				return bad("a field is a name of letters, digits, _, - and $, without ? or spaces")
			}
			sel, rest = append(sel, segment{field: name, kind: 'f'}), rest[1+end:]
			continue
		}
		end := strings.IndexByte(rest, ']')
		if rest[0] != '[' || end < 0 {
			return bad("expected .field or [index]")
		}
		inner := rest[1:end]
		rest = rest[end+1:]
		switch n, err := strconv.Atoi(inner); {
		case inner == "":
			sel = append(sel, segment{kind: '*'})
		case err == nil && strconv.Itoa(n) == inner:
			sel = append(sel, segment{index: n, kind: 'i'})
		case len(inner) > 2 && inner[0] == '"' && inner[len(inner)-1] == '"' && !strings.ContainsAny(inner[1:len(inner)-1], `"\:`):
			sel = append(sel, segment{field: inner[1 : len(inner)-1], kind: 'f'})
		default:
			return bad("slices and escapes are not taken")
		}
	}
	return sel, nil
}

func validField(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c != '-' && c != '$' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != ""
}

// find returns the value, null for a key that a map lacks; ok is false where the
// path leads through something else than it says.
func (sel selector) find(v any) (found any, ok bool) {
	for _, s := range sel {
		switch s.kind {
		case 'f':
			m, isMap := v.(map[string]any)
			if !isMap {
				return nil, false
			}
			v = m[s.field] // a key that is missing is null
		case 'i':
			list, _ := v.([]any)
			i := s.index
			if i < 0 {
				i += len(list)
			}
			if i < 0 || i >= len(list) {
				return nil, false
			}
			v = list[i]
		default: // every item
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
		for _, k := range sortedKeys(v) {
			items = append(items, v[k])
		}
		return items, true
	}
	return nil, false
}
