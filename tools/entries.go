package tools

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"usher/caps/value"
)

// maxEntries bounds each list of an input. What is made of an entry takes up to a hundred times
// its text, and is made before it is known who may call.
const maxEntries = 1 << 16

// countEntries refuses an input, which is known to be a JSON object, with too many entries in a
// list that In has.
func countEntries[In any](raw json.RawMessage) error {
	if len(raw) < 2*maxEntries { // an entry and what parts it from the next
		return nil
	}
	lists := listsOf(reflect.TypeFor[In]())
	if len(lists) == 0 {
		return nil
	}
	key, entries := "", 0
	depth, before := 0, byte(0) // the colon or comma before a text
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; c {
		case '{', '[':
			if depth++; depth == 2 && c == '{' {
				key = "" // the value is no list
			}
		case '}', ']':
			depth--
		case ':':
			before = c
		case ',':
			if before = c; depth != 2 {
				continue
			}
			if entries++; entries >= maxEntries && lists[key] {
				return fmt.Errorf("%s has more than %d entries: send fewer at a time", key, maxEntries)
			}
		case '"':
			end := stringEnd(raw, i)
			if depth == 1 && before != ':' {
				name, err := unquote(raw[i:end])
				if err != nil {
					return err
				}
				key, entries = value.Fold(name), 0
			}
			i = end - 1
		}
	}
	return nil
}

// listsOf has the names of the fields that are lists, as encoding/json reads them.
func listsOf(t reflect.Type) map[string]bool {
	lists := map[string]bool{}
	if t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return lists
	}
	for _, f := range reflect.VisibleFields(t) {
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if !f.IsExported() || of.Kind() != reflect.Slice || of.Elem().Kind() == reflect.Uint8 {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		lists[value.Fold(name)] = true
	}
	return lists
}
