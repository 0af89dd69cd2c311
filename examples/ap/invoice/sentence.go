package invoice

import "regexp"

var (
	sentenceBreak = regexp.MustCompile(`[.;!?]["')]*[ \n]+["'(]*\p{Lu}|\n[ \t]*\n`)
	shortened     = regexp.MustCompile(`(?i)(?:^|[^\p{L}])(?:\p{L}|no|nr|num|inv|ref|stk|std|pcs|qty|hrs|st|dr|mr|mrs|ms|prof|co|ltd|inc|corp|tel|approx|acct|dept|attn|art|pos)\.$`)
)

// breaks finds where sentences end, abbreviations left out.
func breaks(s string) [][]int {
	var out [][]int
	for _, at := range sentenceBreak.FindAllStringIndex(s, -1) {
		if !shortened.MatchString(s[max(0, at[0]-8) : at[0]+1]) {
			out = append(out, at)
		}
	}
	return out
}

// firstSentence is s up to its first end of a sentence.
func firstSentence(s string) string {
	if all := breaks(s); all != nil {
		return s[:all[0][0]+1]
	}
	return s
}

// lastSentence is what follows the last end of a sentence in s.
func lastSentence(s string) string {
	if all := breaks(s); all != nil {
		return s[all[len(all)-1][0]+1:]
	}
	return s
}
