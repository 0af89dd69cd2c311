package wrap

import (
	"context"
	"encoding/base64"
	"net/url"
	"strings"
	"testing"
)

func knowing(secrets ...string) func(context.Context) []string {
	return func(context.Context) []string { return secrets }
}

// A secret is found in every spelling that what passes by gives it.
func TestScrubKnowsASecretsSpellings(t *testing.T) {
	const secret = "pass word/<é>?"
	for name, spelt := range map[string]string{
		"itself": secret, "JSON": `pass word/\u003cé\u003e?`, "JSON with its quotes": `pass word/<é>?`,
		"a query": url.QueryEscape(secret), "a path": url.PathEscape(secret),
		"base64": base64.StdEncoding.EncodeToString([]byte(secret)), "base64 for URLs": base64.RawURLEncoding.EncodeToString([]byte(secret)),
	} {
		if got := scrubber(t.Context(), knowing(" "+secret+"\n"))("<" + spelt + ">"); got != "<[redacted]>" {
			t.Errorf("%s: %q is written as %q", name, spelt, got)
		}
	}
	if base64.StdEncoding.EncodeToString([]byte(secret)) == base64.RawURLEncoding.EncodeToString([]byte(secret)) || !strings.Contains(url.PathEscape(secret), "%20") {
		t.Fatal("the spellings are the same: the test is too small")
	}
}

// Secrets that are not known are found by their form.
func TestScrubKnowsForms(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"-----BEGIN PRIVATE KEY-----\nMC4CAQ", "[redacted]"}, // cut in its middle
		{"refresh_token=abcdef", "refresh_token=[redacted]"},
		{"Proxy-Authorization: Basic abcdef", "Proxy-Authorization: [redacted]"},
		{"client-secret: abcdef", "client-secret: [redacted]"},
		{"MY_PASSWORD=abcdef", "MY_PASSWORD=[redacted]"},
		{"glpat-0123456789abcdefgh", "[redacted]"},
		{"xoxb-0123456789", "[redacted]"},
		{"a word of no secret: 5", "a word of no secret: 5"},
	} {
		if got := scrubber(t.Context(), nil)(tt.text); got != tt.want {
			t.Errorf("%q is written as %q, want %q", tt.text, got, tt.want)
		}
	}
}

// What was scrubbed and comes back stays as it is: a replay is asked what its
// recording was.
func TestScrubTwice(t *testing.T) {
	scrub := scrubber(t.Context(), knowing("hunter2", "swordfish"))
	for _, text := range []string{
		"Authorization: Basic hunter2 and swordfish", "api_key=sk-12345 Bearer abc.def", "https://alice:hunter2@example.com/ password: x-hunter2",
		`{"authorization":"Bearer sk-12345678"}`, "sk-hunter2-swordfish", "bearer bearer hunter2",
	} {
		once := scrub(text)
		if twice := scrub(once); twice != once {
			t.Errorf("%q is written as %q, and that as %q", text, once, twice)
		}
	}
}
