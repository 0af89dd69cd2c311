package endpoint

import (
	"cmp"
	"slices"
	"strings"
)

// MaxMessage is how much of a server's text is shown: bytes.
const MaxMessage = 1000

// Cleaner returns what makes a server's text fit to be shown: one line of valid
// characters, without the secrets, which servers do repeat in their errors, and
// not too long. It is a function so that nothing that prints or walks its
// holder finds a secret.
func Cleaner(key Secret, headers map[string]Secret) func(string) string {
	redact := redactor(key, headers)
	return func(text string) string {
		// The secrets first: the other way round, half of one could stay.
		text = strings.Join(strings.Fields(strings.ToValidUTF8(redact(text), "\uFFFD")), " ")
		if len(text) <= MaxMessage {
			return text
		}
		return strings.ToValidUTF8(text[:MaxMessage], "") + " …"
	}
}

func redactor(key Secret, headers map[string]Secret) func(string) string {
	secrets := []string{string(key)}
	for _, value := range headers {
		secrets = append(secrets, string(value))
		if _, credential, ok := strings.Cut(string(value), " "); ok { // "Bearer …"
			secrets = append(secrets, strings.TrimSpace(credential))
		}
	}
	// The longest first, so that no secret that is part of another leaves the rest.
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var pairs []string
	for _, s := range secrets {
		if s != "" {
			pairs = append(pairs, s, redacted)
		}
	}
	return strings.NewReplacer(pairs...).Replace
}
