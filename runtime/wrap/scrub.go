package wrap

import (
	"context"
	"regexp"
	"strings"

	"usher/caps/value"
	"usher/runtime/endpoint"
)

// secretForms find secrets by their form. Group 1 is what is secret. They
// rather take too much: a cassette with a word too few is still exact, as
// requests are scrubbed alike before they are compared.
var secretForms = []func() *regexp.Regexp{
	value.Form(`(-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$))`),
	value.Form(`(?i)\b(?:proxy-)?authorization\\*["']?\s*[:=]\s*\\*["']?((?:\\.|[^"'\\\r\n])+)`),
	value.Form(`(?i)\bbearer\s+([A-Za-z0-9._~+/=-]+)`),
	value.Form(`(?i)\b(?:[a-z0-9]+[_-])*(?:api[_-]?key|access[_-]?token|refresh[_-]?token|client[_-]?secret|secret[_-]?key|password|passwd)\\*["']?\s*[:=]\s*\\*["']?([^\s"'\\,;{}\[\]]+)`),
	value.Form(`\b(sk-[A-Za-z0-9_-]{4,})`),
	value.Form(`\b(AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abeoprs]-[A-Za-z0-9-]{8,})`),
	value.Form(`\b(eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*)`), // a JWT
	value.Form(`://[^/\s:@"']*:([^/\s@"']+)@`),                                // a password in a URL
}

// scrubber takes secrets out of texts: those that are known now, and what has the
// form of one. It goes on until nothing changes: what is left after one pass may
// have the form of a secret anew, and a text that comes back is to stay as it is.
func scrubber(ctx context.Context, secrets func(context.Context) []string) func(string) string {
	var all []string
	if secrets != nil {
		all = secrets(ctx)
	}
	known := endpoint.Redactor(all...)
	return func(text string) string {
		for range 10 {
			before := text
			text = known(text)
			for _, form := range secretForms {
				var out strings.Builder
				at := 0
				for _, m := range form().FindAllStringSubmatchIndex(text, -1) {
					out.WriteString(text[at:m[2]] + value.Redacted)
					at = m[3]
				}
				out.WriteString(text[at:])
				text = out.String()
			}
			if text == before {
				break
			}
		}
		return text
	}
}
