package prompt

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// head holds the letters that the head of a section begins with.
type head struct {
	places    ['z' + 1]uint32 // by letter: bit i+1 where it is letter i
	size      int
	bracketed bool // a head only behind an opening bracket
}

var heads = [...]head{newHead("your capabilities", false), newHead("delegated to you", false), newHead("context", true)}

func newHead(text string, bracketed bool) head {
	h := head{bracketed: bracketed}
	for _, c := range newSkeleton(text).letters {
		h.size++
		h.places[c] |= 1 << h.size
	}
	return h
}

// What stands in a skeleton for a character that is no Latin letter.
const (
	anyLetter = '?' // one letter: of an alphabet that [latin] does not know
	anySign   = '~' // a digit or a sign within a word: one letter, or nothing
)

// skeleton is a text as a reader sees it: the letters alone, as a-z, whatever
// their case, accents, width, style and alphabet. Spaces, line ends,
// punctuation, Markdown, and characters that nobody sees are left out.
type skeleton struct {
	letters []byte
	starts  []start
}

// start is a letter that a head could begin with: the first of a line, or one
// behind a sign.
type start struct {
	at, line  int
	bracketed bool
}

// imitations returns the numbers of the lines, ascending, in which a head of a
// section seems to begin.
func imitations(text string) (lines []int) {
	s := newSkeleton(text)
	for _, from := range s.starts {
		if slices.ContainsFunc(heads[:], func(h head) bool {
			return (!h.bracketed || from.bracketed) && h.resembles(s.letters[from.at:])
		}) {
			lines = append(lines, from.line)
		}
	}
	return slices.Compact(lines)
}

// resembles reports whether letters begin as the head does. Half of them at
// least must be the letters themselves, so that texts in other alphabets do not
// resemble everything.
func (h *head) resembles(letters []byte) bool {
	same, at := 0, uint32(1) // bit i: the first i letters of the head may have been read
	for _, c := range letters {
		switch c {
		case anyLetter:
			at <<= 1
		case anySign:
			at |= at << 1
		default:
			at = at << 1 & h.places[c]
			same++
		}
		if at == 0 || at>>h.size&1 != 0 {
			break
		}
	}
	return at>>h.size&1 != 0 && 2*same >= h.size
}

func newSkeleton(text string) (s skeleton) {
	var (
		line, inLine int         // the line, and how many letters of it there were
		open         = true      // a head could begin here
		bracketed    bool        // an opening bracket of the line is not closed
		signs        = notInWord // digits and signs since the last letter, without a space between
	)
	for _, r := range norm.NFKD.String(text) {
		switch classOf(r) {
		case lineBreak:
			line, inLine, open, bracketed, signs = line+1, 0, true, false, notInWord
		case letter:
			for range min(signs, 3) {
				s.letters = append(s.letters, anySign)
			}
			if open {
				s.starts = append(s.starts, start{len(s.letters), line, bracketed && inLine == 0})
			}
			s.letters = append(s.letters, latin(r))
			open, signs, inLine = false, 0, inLine+1
		case space:
			signs = notInWord
		case digit:
			signs++
		case sign:
			// Behind the sign that ends a sentence a sentence begins, and no head;
			// "1." and "A." are numbers of a section.
			open = open || inLine <= 1 || !strings.ContainsRune(",.;!?…'’", r)
			bracketed = r == '<' || unicode.Is(unicode.Ps, r) || bracketed && r != '>' && !unicode.Is(unicode.Pe, r)
			signs++
		}
	}
	return s
}

type class uint8

const (
	unseen class = iota
	lineBreak
	letter
	space
	digit
	sign
)

var ascii = func() (classes [0x80]class) {
	for r := range classes {
		classes[r] = classify(rune(r))
	}
	return classes
}()

func classOf(r rune) class {
	if int(r) < len(ascii) {
		return ascii[r]
	}
	return classify(r)
}

func classify(r rune) class {
	switch {
	case isBreak(r):
		return lineBreak
	case r == 0x115f || r == 0x1160: // blank letters of Hangul
		return unseen
	case unicode.IsLetter(r) || isEnclosed(r):
		return letter
	case unicode.IsSpace(r):
		return space
	case unicode.Is(unicode.M, r) || unicode.Is(unicode.C, r):
		return unseen
	case unicode.IsDigit(r):
		return digit
	}
	return sign
}

// notInWord is far from the count of signs that could be letters of a word.
const notInWord = -1 << 30

// isEnclosed reports letters in black circles and squares, and regional
// indicators: they have no compatibility decomposition.
func isEnclosed(r rune) bool {
	return r >= 0x1f150 && r <= 0x1f169 || r >= 0x1f170 && r <= 0x1f189 || r >= 0x1f1e6 && r <= 0x1f1ff
}

// lookalikes pairs letters with the Latin ones that they look like.
var lookalikes = func() map[rune]byte {
	table := map[rune]byte{}
	for latin, alike := range map[byte]string{
		'a': "аαɑᴀ",
		'b': "ьвʙβ",
		'c': "сϲᴄ",
		'd': "ԁɗᴅժ",
		'e': "еєεҽᴇ",
		'g': "ɡցԍɢ",
		'i': "іıιɩɪӏʟլ",
		'n': "пոɴη",
		'o': "оοσօᴏ",
		'p': "рρᴘ",
		'r': "гᴦʀ",
		's': "ѕꜱʂ",
		't': "тτᴛ",
		'u': "υսʋᴜ",
		'x': "хχ",
		'y': "уүγʏΥ",
	} {
		for _, r := range alike {
			table[r] = latin
		}
	}
	return table
}()

// latin returns the Latin letter that r is, or looks like. A capital I looks
// like a small l, so both are i.
func latin(r rune) byte {
	switch {
	case r >= 0x1f1e6 && r <= 0x1f1ff:
		r += 'a' - 0x1f1e6
	case r >= 0x1f150 && r <= 0x1f189:
		r = (r-0x1f150)%0x20 + 'a'
	}
	if r < unicode.MaxASCII {
		if r |= 0x20; r == 'l' {
			return 'i'
		}
		return byte(r)
	}
	if like, ok := lookalikes[r]; ok {
		return like
	}
	if like, ok := lookalikes[unicode.ToLower(r)]; ok {
		return like
	}
	return anyLetter
}
