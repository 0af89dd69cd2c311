package endpoint

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"usher/caps/value"
)

// Bounds of what a server says, in bytes.
const (
	MaxMessage = 1000     // of its texts that are shown
	maxID      = 64 << 10 // of its ids: some servers keep what a model thought in them
	maxWord    = 100
)

// cleanerOf returns what makes a server's text fit to be shown: one line of valid
// characters, without the secrets, which servers do repeat in their errors, and
// not too long. It is a function so that nothing that prints or walks its
// holder finds a secret.
func cleanerOf(key Secret, headers map[string]Secret) func(string) string {
	clean := cleaner(key, headers, MaxMessage)
	return func(text string) string { return clean(unescaped(text)) }
}

// idCleaner is cleanerOf for ids.
func idCleaner(key Secret, headers map[string]Secret) func(string) string {
	return cleaner(key, headers, maxID)
}

// escapes are how JSON may spell what need not be escaped, and keys do hold: some
// servers write / + = < > & so. A text within a text has more than one backslash.
var escapes = regexp.MustCompile(`\\+(?:/|u00[2-7][0-9A-Fa-f])`)

func unescaped(text string) string {
	return escapes.ReplaceAllStringFunc(text, func(e string) string {
		if e = strings.TrimLeft(e, `\`); e == "/" {
			return e
		}
		n, _ := strconv.ParseUint(e[1:], 16, 8) // the pattern has only such
		return string(rune(n))
	})
}

// Word returns what a server says that should be a word, such as why an answer
// ended. Clean is [Server].Clean.
func Word(said string, clean func(string) string) string {
	said = clean(said)
	return strings.ToValidUTF8(said[:min(len(said), maxWord)], "")
}

func cleaner(key Secret, headers map[string]Secret, most int) func(string) string {
	secrets := []string{string(key)}
	for _, value := range headers {
		secrets = append(secrets, string(value))
	}
	redact := Redactor(secrets...)
	return func(text string) string {
		// The secrets first: the other way round, half of one could stay.
		text = strings.Join(strings.Fields(strings.ToValidUTF8(redact(text), "\uFFFD")), " ")
		if len(text) <= most {
			return text
		}
		return strings.ToValidUTF8(text[:most], "") + " …"
	}
}

// Tokens is a server's count of tokens within reason, so that no sum of counts
// is a refund or wraps around.
func Tokens(n int) int {
	const most = min(1<<40, math.MaxInt/4)
	return min(max(n, 0), most)
}

// Redactor returns what takes secrets out of a text: whole values of headers, and
// the credentials in them, as they stand there, in JSON, in a URL and in Base64.
func Redactor(secrets ...string) func(string) string {
	for _, secret := range secrets {
		scheme, credential, _ := strings.Cut(secret, " ")
		credential = strings.TrimSpace(credential) // "Bearer …"
		secrets = append(secrets, credential)
		if raw, err := base64.StdEncoding.DecodeString(credential); err == nil && strings.EqualFold(scheme, "Basic") {
			_, password, _ := strings.Cut(string(raw), ":")
			secrets = append(secrets, string(raw), password)
		}
	}
	var spellings []string
	for _, secret := range secrets {
		if secret = strings.TrimSpace(secret); secret != "" {
			escaped, _ := json.Marshal(secret) // a string cannot fail to encode
			spellings = append(
				spellings, secret, strings.Trim(string(escaped), `"`), strings.Trim(string(value.AppendString(nil, secret)), `"`),
				url.QueryEscape(secret), url.PathEscape(secret),
				base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
			)
		}
	}
	// The longest first, so that no secret that is part of another leaves the rest.
	slices.SortFunc(spellings, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var pairs []string
	for _, s := range spellings {
		pairs = append(pairs, s, redacted)
	}
	return strings.NewReplacer(pairs...).Replace
}
