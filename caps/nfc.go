package caps

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

//go:generate go run ./internal/nfcgen

// span is a run of runes, with their canonical combining class where that
// matters.
type span struct {
	lo, hi rune
	class  uint8
}

// pair is a canonical composition: first followed by second makes whole.
type pair struct{ whole, first, second rune }

// Hangul syllables compose by arithmetic (Unicode standard, 3.12).
const (
	hangulBase, hangulEnd         = 0xac00, 0xac00 + 11172
	leadBase, vowelBase, tailBase = 0x1100, 0x1161, 0x11a7
	leads, vowels, tails          = 19, 21, 28
)

// isNFC reports whether valid UTF-8 is in Unicode normal form C. It is exact:
// where the quick check of UAX #15 has no answer, the text is taken apart, put
// together again, and compared.
func isNFC(s string) bool {
	last, sure := uint8(0), true
	for _, r := range s {
		if r < 0x300 {
			last = 0
			continue
		}
		if _, never := findSpan(neverComposed, r); never {
			return false
		}
		class := combiningClass(r)
		if class != 0 && class < last {
			return false
		}
		last = class
		sure = sure && !mayCompose(r)
	}
	return sure || recompose(s) == s
}

// recompose returns the normal form C of a text in which every rune that can be
// taken apart is a composition of [compositions].
func recompose(s string) string {
	runes := make([]rune, 0, utf8.RuneCountInString(s)+8)
	for _, r := range s {
		runes = decompose(runes, r)
	}
	for i := 0; i < len(runes); {
		j := i
		for j < len(runes) && combiningClass(runes[j]) != 0 {
			j++
		}
		slices.SortStableFunc(runes[i:j], func(a, b rune) int {
			return cmp.Compare(combiningClass(a), combiningClass(b))
		})
		i = j + 1
	}
	return string(compose(runes))
}

func decompose(to []rune, r rune) []rune {
	if r >= hangulBase && r < hangulEnd {
		n := r - hangulBase
		to = append(to, leadBase+n/(vowels*tails), vowelBase+n%(vowels*tails)/tails)
		if tail := n % tails; tail != 0 {
			to = append(to, tailBase+tail)
		}
		return to
	}
	i, ok := slices.BinarySearchFunc(compositions[:], r, func(p pair, r rune) int { return cmp.Compare(p.whole, r) })
	if !ok {
		return append(to, r)
	}
	return append(decompose(to, compositions[i].first), compositions[i].second)
}

// compose puts canonically ordered runes together in place.
func compose(runes []rune) []rune {
	out := runes[:0]
	starter := -1 // where in out the last rune of class 0 stands
	last := uint8(0)
	for _, r := range runes {
		class := combiningClass(r)
		if starter >= 0 {
			// A rune between the two that is not of a lower class blocks them.
			adjacent := starter == len(out)-1
			if adjacent || last < class {
				if whole, ok := composition(out[starter], r); ok {
					out[starter] = whole
					continue
				}
			}
		}
		out = append(out, r)
		last = class
		if class == 0 {
			starter = len(out) - 1
		}
	}
	return out
}

func composition(first, second rune) (rune, bool) {
	switch {
	case first >= leadBase && first < leadBase+leads && second >= vowelBase && second < vowelBase+vowels:
		return hangulBase + ((first-leadBase)*vowels+second-vowelBase)*tails, true
	case first >= hangulBase && first < hangulEnd && (first-hangulBase)%tails == 0 &&
		second > tailBase && second < tailBase+tails:
		return first + second - tailBase, true
	}
	i, ok := slices.BinarySearchFunc(byParts[:], pair{0, first, second}, func(i uint16, want pair) int {
		p := compositions[i]
		return cmp.Or(cmp.Compare(p.first, want.first), cmp.Compare(p.second, want.second))
	})
	if !ok {
		return 0, false
	}
	return compositions[byParts[i]].whole, true
}

// mayCompose reports whether r can be the second part of a composition.
func mayCompose(r rune) bool {
	if r >= vowelBase && r < vowelBase+vowels || r > tailBase && r < tailBase+tails {
		return true
	}
	_, ok := findSpan(secondParts, r)
	return ok
}

func combiningClass(r rune) uint8 {
	if r < 0x300 {
		return 0
	}
	s, _ := findSpan(combiningClasses, r)
	return s.class
}

func findSpan(table []span, r rune) (span, bool) {
	i, ok := slices.BinarySearchFunc(table, r, func(s span, r rune) int {
		switch {
		case s.hi < r:
			return -1
		case s.lo > r:
			return 1
		}
		return 0
	})
	if !ok {
		return span{}, false
	}
	return table[i], true
}
