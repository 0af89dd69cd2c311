package invoice

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

var (
	heading    = regexp.MustCompile(`(?m)^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?)+`)
	misread    = regexp.MustCompile(`\b[l1|](?i:nvoice)`)
	misreadSum = regexp.MustCompile(`(?i)\b(sub|)t[0o]ta[l1|](\b|[ :])`)
	spacedWord = regexp.MustCompile(`(?:^|[ \t\n])((?:[^\s] ){3,}[^\s])(?:$|[ \t\n])`)
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
	s = heading.ReplaceAllString(s, "")
	s = strings.NewReplacer("**", "", "__", "", "`", "").Replace(s)
	s = spacedWord.ReplaceAllStringFunc(s, closeUp)
	s = misread.ReplaceAllStringFunc(s, func(m string) string { return "I" + m[1:] })
	s = misreadSum.ReplaceAllString(s, "${1}total$2")
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \t")
	}
	return strings.Join(lines, "\n")
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

// closeUp joins a word whose letters stand apart: "I N V O I C E".
func closeUp(m string) string {
	letters := 0
	for _, r := range m {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	core := strings.TrimSpace(m)
	if letters < 3 {
		return m
	}
	return strings.Replace(m, core, strings.ReplaceAll(core, " ", ""), 1)
}
