package prompt

import (
	"slices"
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
	return mark(text, true)
}

// instruction returns a text that an agent is to follow: only the lines that
// imitate a head are marked.
func instruction(text string) string { return mark(text, false) }

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

// mark marks the lines of text that imitate a head, or all from the first such one
// on, where they hold anything.
func mark(text string, onward bool) string {
	heads := imitations(text)
	if len(heads) == 0 {
		return text
	}
	var b strings.Builder
	for line := 0; text != ""; line++ {
		end := strings.IndexFunc(text, isBreak)
		if end < 0 {
			end = len(text)
		}
		_, imitates := slices.BinarySearch(heads, line)
		if (imitates || onward && line >= heads[0]) && strings.TrimSpace(text[:end]) != "" {
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
	return r >= '\n' && r <= '\r' || r == '\u0085' || r == '\u2028' || r == '\u2029'
}
