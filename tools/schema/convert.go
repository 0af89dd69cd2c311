package schema

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"usher/caps/value"
)

// convert makes v one of the wanted types, if it is none of them and can be.
func convert(v any, want []string) any {
	has := func(kind string) bool { return slices.Contains(want, kind) }
	if has(value.Kind(v)) || value.Kind(v) == "number" && has("integer") {
		return v
	}
	switch v := v.(type) {
	case string:
		text := strings.TrimSpace(v)
		switch {
		case (has("number") || has("integer")) && isNumber(text):
			return json.Number(text)
		case has("boolean") && (text == "true" || text == "false"):
			return text == "true"
		}
	case json.Number:
		if has("string") {
			return v.String()
		}
	case bool:
		if has("string") {
			return strconv.FormatBool(v)
		}
	}
	switch v.(type) {
	case string, json.Number, bool:
		if has("array") {
			return []any{v}
		}
	}
	return v
}

func isNumber(text string) bool {
	if text == "" || text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return false
	}
	return json.Valid([]byte(text)) && vetNumber(text) == nil
}

func copyOf(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, item := range v {
			m[key] = copyOf(item)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = copyOf(item)
		}
		return list
	}
	return v
}
