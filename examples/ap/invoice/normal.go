package invoice

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

var (
	heading    = regexp.MustCompile(`(?m)^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?)+`)
	misread    = regexp.MustCompile(`\b[l1|](?i:nvoice)`)
	misreadSum = regexp.MustCompile(`(?i)\b(sub|)t[0o]ta[l1|](\b|[ :])`)
	spacedRun  = regexp.MustCompile(`(?:\b\pL ){2,}\pL\b`)
	wideGap    = regexp.MustCompile(` {2,}`)
	jsonBreak  = regexp.MustCompile(`[{}\[\],][ \t\n]*(["{}\]]|$)`)
	forwarded  = regexp.MustCompile(`(?im)^[ \t>]*-{2,}[ \t]*(?:forwarded|original|weitergeleitete) (?:message|nachricht)[ \t]*-*[ \t]*$`)
	tags       = regexp.MustCompile(`<(?:/?[a-zA-Z][^<>@]{0,200}|!--[^>]*--)>`)
)

// normalize brings the ways to write the same character to one: line ends,
// spaces, dashes, quotes, markup, and the usual mistakes of text recognition.
func normalize(s string) string {
	s = strings.ToValidUTF8(s, " ")
	s = strings.TrimPrefix(s, "\ufeff")
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\f", "\n", "\v", "\n", "\u2028", "\n", "\u2029", "\n\n").Replace(s)
	s = joinGroups(s)
	s = norm.NFKC.String(s)
	s = strings.Map(oneSpelling, s)
	if strings.Contains(s, "</") {
		s = tags.ReplaceAllStringFunc(s, func(tag string) string {
			switch strings.ToLower(strings.Trim(tag, "</> ")) {
			case "td", "th":
				return "\t"
			}
			return "\n"
		})
	}
	if strings.HasPrefix(strings.TrimSpace(s), "{") {
		s = jsonBreak.ReplaceAllString(s, "\n$1")
	}
	s = forwarded.ReplaceAllString(s, "")
	s = heading.ReplaceAllString(s, "")
	s = strings.NewReplacer("**", "", "__", "", "`", "").Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = closeUp(strings.Trim(l, " \t"))
	}
	s = strings.Join(lines, "\n")
	s = misread.ReplaceAllStringFunc(s, func(m string) string { return "I" + m[1:] })
	return misreadSum.ReplaceAllString(s, "${1}total$2")
}

// joinGroups writes 1 234 567 with an apostrophe where the space is one that
// typesetters put between thousands: as a plain space it could part columns.
func joinGroups(s string) string {
	rs := []rune(s)
	for i := 1; i+3 < len(rs); i++ {
		switch rs[i] {
		case '\u00a0', '\u202f', '\u2009', '\u2007':
			group := unicode.IsDigit(rs[i-1]) && unicode.IsDigit(rs[i+1]) && unicode.IsDigit(rs[i+2]) && unicode.IsDigit(rs[i+3])
			if group && (i+4 == len(rs) || !unicode.IsDigit(rs[i+4])) {
				rs[i] = '\''
			}
		}
	}
	return string(rs)
}

func oneSpelling(r rune) rune {
	switch r {
	case '‐', '‑', '‒', '–', '—', '―', '−', '﹘', '﹣':
		return '-'
	case '‘', '’', '‚', '‛', '`', '´', 'ʼ':
		return '\''
	case '“', '”', '„', '«', '»':
		return '"'
	case '×', '✕', '⨯':
		return '×'
	case '•', '·', '▪', '◦', '●', '‣':
		return '•'
	case '│', '┃', '¦', '║':
		return '|'
	case '\u00ad', '\u200b', '\u200c', '\u200d', '\u2060', '\ufeff':
		return -1
	case '\n', '\t':
		return r
	}
	if unicode.IsSpace(r) {
		return ' '
	}
	if unicode.IsControl(r) {
		return -1
	}
	return r
}

// closeUp joins words whose letters stand apart: "I N V O I C E   N O".
func closeUp(line string) string {
	if !spacedRun.MatchString(line) {
		return line
	}
	parts := wideGap.Split(line, -1)
	for i, p := range parts {
		parts[i] = spacedRun.ReplaceAllStringFunc(p, func(run string) string {
			return strings.ReplaceAll(run, " ", "")
		})
	}
	all := !slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(p, " ") })
	if all {
		return strings.Join(parts, " ")
	}
	return strings.Join(parts, "  ")
}
