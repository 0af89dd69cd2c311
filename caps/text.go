package caps

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// checkText refuses the characters that would let two texts mean one place, or
// look alike without being so.
func checkText(s string) error {
	marks := false // a rune from U+0300 on: below that, all text is NFC
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if err := checkByte(s, i); err != nil {
				return err
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return fmt.Errorf("invalid UTF-8 at byte %d: send the text as UTF-8", i)
		case r == utf8.RuneError:
			return fmt.Errorf("the replacement character U+FFFD at byte %d: something was not UTF-8 and got lost, send the original text", i)
		case invisible(r) != "":
			return fmt.Errorf("%s %U at byte %d: leave it out", invisible(r), r, i)
		}
		marks = marks || r >= 0x300
		i += size
	}
	if marks && !norm.NFC.IsNormalString(s) {
		return errors.New("not in Unicode normal form NFC: write the composed characters, with at most 30 marks each")
	}
	return nil
}

// checkByte checks the ASCII byte at i.
func checkByte(s string, i int) error {
	switch c := s[i]; {
	case c < ' ' || c == 0x7f:
		return fmt.Errorf("control character %q at byte %d: leave it out", rune(c), i)
	case c == '\\':
		return fmt.Errorf(`a backslash at byte %d: write "/" between segments`, i)
	case c == '*':
		return fmt.Errorf(`"*" at byte %d: patterns are not supported, a resource covers everything below it (and "" everything)`, i)
	case c == '?' || c == '#':
		return fmt.Errorf("%q at byte %d: a resource has no query or fragment, leave it out", rune(c), i)
	}
	if c, ok := unescape(s[i:]); ok && (c < ' ' || strings.IndexByte("/\\.*?#%\x7f", c) >= 0) {
		return fmt.Errorf("the percent-encoded separator %s at byte %d: write the segments themselves, joined by \"/\"", s[i:i+3], i)
	}
	return nil
}

// invisible names the kind of a rune beyond ASCII that changes nothing one can see, or
// changes the order in which text is shown; "" for any other. The joiners U+200C and
// U+200D are letters' business in several scripts and stay.
func invisible(r rune) string {
	switch {
	case r >= 0x80 && r <= 0x9f, r == 0x2028, r == 0x2029:
		return "control character"
	case r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return "bidirectional control"
	case r == 0x200b, r == 0x2060, r == 0xfeff:
		return "zero-width character"
	}
	return ""
}
