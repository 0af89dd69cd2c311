package openai

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// keyWords mark the names of headers whose values are keys.
var keyWords = []string{"authorization", "api-key", "apikey", "token", "secret", "cookie", "password"}

// headers reads extra headers. A value is written out, or, where it is a key,
// named by env:NAME or file:PATH.
func headers(o *Options) setting {
	return func(value any) error {
		set, ok := value.(map[string]any)
		if !ok {
			return wrong(value, "headers by name, for example {X-Title: Usher}")
		}
		o.Headers, o.SecretHeaders = make(map[string]string), make(map[string]Secret)
		seen := make(map[string]bool)
		for _, name := range slices.Sorted(maps.Keys(set)) {
			lower := strings.ToLower(name)
			if seen[lower] {
				return fmt.Errorf("%s stands there twice, in different spellings: remove one", name)
			}
			seen[lower] = true
			text, ok := set[name].(string)
			if !ok {
				return fmt.Errorf("%s: %w", name, wrong(set[name], "text (put it into quotes)"))
			}
			if !isReference(text) && !holdsKey(name) {
				o.Headers[name] = text
				continue
			}
			value, err := readSecret(text)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			o.SecretHeaders[name] = value
		}
		return nil
	}
}

func holdsKey(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(keyWords, func(word string) bool { return strings.Contains(name, word) })
}
