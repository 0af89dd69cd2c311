package wrap

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const redacted = "[redacted]"

// secretPatterns find secrets by their form. Group 1 is what is secret. They
// rather take too much: a cassette with a word too few is still exact, as
// requests are scrubbed alike before they are compared.
var secretPatterns = []*regexp.Regexp{
	regexp.MustCompile(`(-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$))`),
	regexp.MustCompile(`(?i)\b(?:proxy-)?authorization\\*["']?\s*[:=]\s*\\*["']?((?:\\.|[^"'\\\r\n])+)`),
	regexp.MustCompile(`(?i)\bbearer\s+([A-Za-z0-9._~+/=-]+)`),
	regexp.MustCompile(`(?i)\b(?:[a-z0-9]+[_-])*(?:api[_-]?key|access[_-]?token|refresh[_-]?token|client[_-]?secret|secret[_-]?key|password|passwd)\\*["']?\s*[:=]\s*\\*["']?([^\s"'\\,;{}\[\]]+)`),
	regexp.MustCompile(`\b(sk-[A-Za-z0-9_-]{4,})`),
	regexp.MustCompile(`\b(AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abeoprs]-[A-Za-z0-9-]{8,})`),
	regexp.MustCompile(`\b(eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*)`), // a JWT
	regexp.MustCompile(`://[^/\s:@"']*:([^/\s@"']+)@`),                                // a password in a URL
}

// scrubber replaces secrets.
type scrubber struct {
	secrets  []string
	literals []string // their spellings
}

// newScrubber takes the secrets that are known beside those of a known form.
// They are found in the spellings that JSON, URLs and Basic credentials give
// them too.
func newScrubber(secrets []string) scrubber {
	var s scrubber
	for _, secret := range secrets {
		secret = strings.TrimSpace(secret)
		if secret == "" {
			continue
		}
		s.secrets = append(s.secrets, secret)
		plain, _ := json.Marshal(secret) // a string cannot fail to encode
		s.literals = append(
			s.literals, secret, strings.Trim(string(plain), `"`), strings.Trim(quoteJSON(secret), `"`),
			url.QueryEscape(secret), url.PathEscape(secret),
			base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
		)
	}
	// The longest first, so that no spelling is hidden by a part of it.
	slices.SortFunc(s.literals, func(a, b string) int { return len(b) - len(a) })
	s.literals = slices.Compact(s.literals)
	return s
}

// escapes are characters as JSON may spell them though it need not, and as a
// text within a text does: with more than one backslash.
var escapes = regexp.MustCompile(`\\+(?:["/]|u[0-9A-Fa-f]{4})`)

// unescaped returns text without its escapes, and for each byte of that, and its
// end, where it stands in text.
func unescaped(text string) (string, []int) {
	var b strings.Builder
	var from []int
	at := 0
	keep := func(end int) {
		for ; at < end; at++ {
			b.WriteByte(text[at])
			from = append(from, at)
		}
	}
	for _, m := range escapes.FindAllStringIndex(text, -1) {
		keep(m[0])
		char := strings.TrimLeft(text[m[0]:m[1]], `\`)
		if n, err := strconv.ParseUint(char[1:], 16, 16); err == nil {
			char = string(rune(n))
		}
		b.WriteString(char)
		from = append(from, slices.Repeat([]int{at}, len(char))...)
		at = m[1]
	}
	keep(len(text))
	return b.String(), append(from, len(text))
}

func (s scrubber) scrub(text string) string {
	s.across(&text)
	return text
}

// across scrubs texts that follow on each other as the one text that they
// make, so that a secret in pieces is found. What replaces it stands in the
// piece where it begins.
func (s scrubber) across(parts ...*string) {
	whole, ends := "", make([]int, len(parts))
	for i, p := range parts {
		whole += *p
		ends[i] = len(whole)
	}
	// What is left after one pass may form a secret anew, so go on until
	// nothing does; each pass leaves less that is not redacted.
	for {
		spans := s.find(whole)
		if len(spans) == 0 {
			break
		}
		whole, ends = replace(whole, ends, spans)
	}
	begin := 0
	for i, p := range parts {
		*p = whole[begin:ends[i]]
		begin = ends[i]
	}
}

type span struct{ begin, end int }

// find returns where secrets are, in order and apart from each other.
func (s scrubber) find(text string) []span {
	var done []span // what is redacted already
	for at := 0; ; {
		i := strings.Index(text[at:], redacted)
		if i < 0 {
			break
		}
		done = append(done, span{at + i, at + i + len(redacted)})
		at += i + len(redacted)
	}
	var found []span
	add := func(begin, end int) {
		// Cut what is redacted out, and blanks at the ends; keep what remains.
		for _, d := range done {
			if d.end <= begin || d.begin >= end {
				continue
			}
			if begin < d.begin {
				found = appendSecret(found, text, begin, d.begin)
			}
			begin = d.end
		}
		if begin < end {
			found = appendSecret(found, text, begin, end)
		}
	}
	for _, secret := range s.literals {
		each(text, secret, add)
	}
	if len(s.secrets) > 0 && strings.Contains(text, `\`) {
		plain, from := unescaped(text)
		for _, secret := range s.secrets {
			each(plain, secret, func(begin, end int) { add(from[begin], from[end]) })
		}
	}
	for _, p := range secretPatterns {
		for _, m := range p.FindAllStringSubmatchIndex(text, -1) {
			add(m[2], m[3])
		}
	}
	slices.SortFunc(found, func(a, b span) int { return a.begin - b.begin })
	var out []span
	for _, f := range found {
		if n := len(out); n > 0 && f.begin <= out[n-1].end {
			out[n-1].end = max(out[n-1].end, f.end)
			continue
		}
		out = append(out, f)
	}
	return out
}

// each calls add for each place of part in text.
func each(text, part string, add func(begin, end int)) {
	for at := 0; ; at++ {
		i := strings.Index(text[at:], part)
		if i < 0 {
			return
		}
		at += i
		add(at, at+len(part))
	}
}

func appendSecret(found []span, text string, begin, end int) []span {
	for begin < end && strings.IndexByte(" \t\r\n", text[begin]) >= 0 {
		begin++
	}
	for begin < end && strings.IndexByte(" \t\r\n", text[end-1]) >= 0 {
		end--
	}
	if begin == end {
		return found
	}
	return append(found, span{begin, end})
}

// replace puts the mark where the spans are, and moves the ends of the parts.
func replace(text string, ends []int, spans []span) (string, []int) {
	var b strings.Builder
	moved := make([]int, len(ends))
	at, i := 0, 0
	for _, sp := range spans {
		for i < len(ends) && ends[i] <= sp.begin {
			moved[i] = b.Len() + ends[i] - at
			i++
		}
		b.WriteString(text[at:sp.begin])
		b.WriteString(redacted)
		for i < len(ends) && ends[i] < sp.end {
			moved[i] = b.Len()
			i++
		}
		at = sp.end
	}
	for ; i < len(ends); i++ {
		moved[i] = b.Len() + ends[i] - at
	}
	b.WriteString(text[at:])
	return b.String(), moved
}
