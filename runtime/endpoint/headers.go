package endpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"usher/runtime"
)

// Headers are more headers of each request, by name. A value is written out, or,
// where it is a key, a configuration has a reference to it. No text shows what is
// referred to, or stands under a name such as Authorization or X-Api-Key.
type Headers map[string]Secret

// UnmarshalJSON reads headers by name.
func (h *Headers) UnmarshalJSON(raw []byte) error {
	var set map[string]json.RawMessage
	if json.Unmarshal(raw, &set) != nil {
		return errors.New("write headers by name, for example {X-Title: Usher}")
	}
	*h = make(Headers)
	seen := make(map[string]bool)
	for _, name := range slices.Sorted(maps.Keys(set)) {
		var text string
		none := set[name][0] != '"' || json.Unmarshal(set[name], &text) != nil
		secret, lower := Secret(text), strings.ToLower(name)
		switch {
		case seen[lower]:
			return fmt.Errorf("%s stands there twice, in different spellings: remove one", name)
		case none:
			return fmt.Errorf("%s: write text (put it into quotes)", name)
		case holdsKey(name):
			if err := secret.UnmarshalJSON(set[name]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		seen[lower], (*h)[name] = true, secret
	}
	return nil
}

// holdsKey tells by its name that the value of a header is a key.
func holdsKey(name string) bool {
	words := []string{"authorization", "api-key", "apikey", "token", "secret", "cookie", "password"}
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(strings.ToLower(name), word) })
}

// ownHeaders are set by the request itself.
var ownHeaders = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type",
	"Host", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// check refuses headers that no request can hold, those that the request sets
// itself, and those that are taken in this format: why, by name.
func (h Headers) check(taken map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		const token = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		if name == "" || strings.Trim(name, token) != "" {
			return badHeader("%q is not the name of a header: use letters, digits and -", name)
		}
		own := http.CanonicalHeaderKey(name)
		if why := taken[own]; why != "" {
			return badHeader("%s %s", own, why)
		}
		if slices.Contains(ownHeaders, own) {
			return badHeader("%s is set by the request itself: remove it", own)
		}
		if err := CheckValue(HeadersSetting+": "+name, string(h[name])); err != nil {
			return err
		}
	}
	return nil
}

func badHeader(format string, args ...any) error {
	return &runtime.SettingError{Setting: HeadersSetting, Err: fmt.Errorf("headers: "+format, args...)}
}

// CheckValue keeps what no header can hold out of one: what is a setting, or
// what stands in one, after a colon. It never shows the value.
func CheckValue(what, value string) error {
	if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
		setting, _, _ := strings.Cut(what, ":")
		return &runtime.SettingError{Setting: setting, Err: fmt.Errorf("%s holds a line break or another control character: give it on one line", what)}
	}
	return nil
}
