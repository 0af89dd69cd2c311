package prompt

import (
	"strings"
	"unicode/utf8"
)

// quoteMark stands before a line of data that a reader could take for the head
// of a section of the prompt.
const quoteMark = "[quoted] "

// material returns a text of anybody's as it may stand in the prompt. From the
// first line on that imitates the head of a section each line is marked: what
// stands below a forged head would be read with it.
func material(text string) string {
	heads := imitations(text)
	if len(heads) == 0 {
		return text
	}
	return mark(text, func(line int) bool { return line >= heads[0] })
}

// instruction returns a text that an agent is to follow: only the lines that
// imitate a head are marked.
func instruction(text string) string {
	heads := imitations(text)
	if len(heads) == 0 {
		return text
	}
	forged := make(map[int]bool, len(heads))
	for _, line := range heads {
		forged[line] = true
	}
	return mark(text, func(line int) bool { return forged[line] })
}

// name returns a name or a label on one line.
func name(text string) string {
	return instruction(strings.Map(func(r rune) rune {
		switch {
		case isBreak(r):
			return ' '
		case r == ']':
			return ')'
		}
		return r
	}, text))
}

// mark marks the lines of text for which is says so, and that hold anything.
func mark(text string, is func(line int) bool) string {
	var b strings.Builder
	for line := 0; text != ""; line++ {
		end := strings.IndexFunc(text, isBreak)
		if end < 0 {
			end = len(text)
		}
		if is(line) && strings.TrimSpace(text[:end]) != "" {
			b.WriteString(quoteMark)
		}
		_, size := utf8.DecodeRuneInString(text[end:])
		b.WriteString(text[:end+size])
		text = text[end+size:]
	}
	return b.String()
}

// isBreak reports the characters that end a line for one reader or another.
func isBreak(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}
