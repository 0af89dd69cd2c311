package endpoint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"usher/runtime"
)

// keyWords mark the names of headers whose values are keys.
var keyWords = []string{"authorization", "api-key", "apikey", "token", "secret", "cookie", "password"}

// setHeaders takes extra headers. A value is written out, or, where it is a key, a
// reference to a secret.
func (o *Options) setHeaders(value any, secrets Secrets) error {
	set, ok := value.(map[string]any)
	if !ok {
		return Wrong(value, "headers by name, for example {X-Title: Usher}")
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
			return fmt.Errorf("%s: %w", name, Wrong(set[name], "text (put it into quotes)"))
		}
		if !isReference(text) && !holdsKey(name) {
			o.Headers[name] = text
			continue
		}
		value, err := secrets(text)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		o.SecretHeaders[name] = value
	}
	return nil
}

func holdsKey(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(keyWords, func(word string) bool { return strings.Contains(name, word) })
}

// ownHeaders are set by the request itself.
var ownHeaders = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type",
	"Host", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// checkHeaders refuses headers that no request can hold, those that the request
// sets itself, and those that are taken in this format.
func (f *Form) checkHeaders(o *Options) error {
	all := make(map[string]string)
	for name, value := range o.SecretHeaders {
		all[name] = string(value)
	}
	maps.Copy(all, o.Headers)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		const token = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		if name == "" || strings.Trim(name, token) != "" {
			return badHeader("%q is not the name of a header: use letters, digits and -", name)
		}
		for _, own := range ownHeaders {
			if strings.EqualFold(name, own) {
				return badHeader("%s is set by the request itself: remove it", own)
			}
		}
		for other, why := range f.Taken {
			if strings.EqualFold(name, other) {
				return badHeader("%s %s", other, why)
			}
		}
		if err := CheckValue("headers: "+name, all[name]); err != nil {
			return err
		}
	}
	return nil
}

func badHeader(format string, args ...any) error {
	return &runtime.SettingError{Setting: "headers", Err: fmt.Errorf("headers: "+format, args...)}
}

// CheckValue keeps what no header can hold out of one: what is a setting, or
// what stands in one, after a colon. It never shows the value.
func CheckValue(what, value string) error {
	for _, c := range []byte(value) {
		if c < ' ' && c != '\t' || c == 0x7f {
			setting, _, _ := strings.Cut(what, ":")
			return &runtime.SettingError{Setting: setting, Err: fmt.Errorf("%s holds a line break or another control character: give it on one line", what)}
		}
	}
	return nil
}
