package invoice

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// amount is a number in the text that may be money.
type amount struct {
	start, end int // of the whole expression, currency included
	value      Money
	currency   string // as ISO code or symbol; empty where none stands beside it
	decimals   bool
	counted    bool // a unit follows, such as "30 days"
}

// money reports whether the number can only be money.
func (a amount) money() bool { return a.currency != "" || a.decimals && !a.counted }

const (
	plainNumber  = `\d{1,3}(?:'\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)*`
	spacedNumber = `\d{1,3}(?: \d{3})+(?:[.,]\d{1,2})?`
	looseNumber  = `\d{1,3}(?:(?: ?[.,] ?| )\d{3})*(?: ?[.,] ?\d{2})?`
)

var (
	before       = regexp.MustCompile(`(?i)(?:` + currencyBefore + `)\s{0,3}(\(?-?)\s?$`)
	after        = regexp.MustCompile(`(?i)^(?:,-{1,2}|\.-{1,2}|/-)?\)?\s{0,2}(?:` + currencyAfter + `)`)
	digits       = regexp.MustCompile(`^(?:` + plainNumber + `)`)
	spaced       = regexp.MustCompile(`^(?:` + spacedNumber + `)`)
	loose        = regexp.MustCompile(`^(?:` + looseNumber + `)`)
	unitAfter    = regexp.MustCompile(`(?i)^\s?(?:%|percent|(?:business |calendar |working )?days?|tage|jours|hours?|hrs?|h\b|units?|pcs|pieces?|items?|months?|weeks?|years?|people|persons?|pages?|licen[cs]es?|seats?|users?|kg|km|lbs?|kwh|gb|x\b|×)`)
	noCents      = regexp.MustCompile(`^(?:,-{1,2}|\.-{1,2}|/-)`)
	negativeLead = regexp.MustCompile(`(?:^|[ \t\n|:(])-$`)
	magnitude    = regexp.MustCompile(`^\s?(k|K|M|million|mio\.?|thousand)(?:\b|$)`)
	spaceStyle   = regexp.MustCompile(`(?i)(?:` + currencyBefore + `)\s?\d{1,3}(?: \d{3})+,\d\d\b|\b\d{1,3}(?: \d{3})+(?:,\d\d)?\s?(?:€|eur|sek|nok|dkk|pln|czk|zł|kr|chf)`)
	pointGroups  = regexp.MustCompile(`\d\.\d{3},\d{2}\b|\b\d{1,3},\d{2}\s?(?:€|(?i:eur))|€\s?\d+,\d{2}\b`)
	commaCents   = regexp.MustCompile(`\d,\d{2}\b`)
	commaGroups  = regexp.MustCompile(`\d,\d{3}\.\d{2}\b|[$£]\s?\d+\.\d{2}\b`)
)

// style is how a text writes numbers.
type style struct {
	spaces       bool // thousands stand apart by spaces
	decimalComma bool
	decimalPoint bool
}

func styleOf(s string) style {
	st := style{spaces: spaceStyle.MatchString(s), decimalComma: pointGroups.MatchString(s), decimalPoint: commaGroups.MatchString(s)}
	if strings.Contains(s, "€") && !st.decimalPoint && commaCents.MatchString(s) {
		st.decimalComma = true
	}
	return st
}

// amounts finds the numbers of masked text, left to right.
func (st style) amounts(s string) []amount {
	var out []amount
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			continue
		}
		a, end, ok := st.amountAt(s, i)
		if ok {
			if n := len(out); n > 0 {
				a.start = max(a.start, out[n-1].end)
			}
			out = append(out, a)
		}
		i = max(i, end-1)
	}
	return out
}

// amountAt reads the number that begins at i. Where it is part of a word, end
// is the end of that word.
func (st style) amountAt(s string, i int) (a amount, end int, ok bool) {
	lead := s[max(0, i-14):i]
	cur := before.FindStringSubmatchIndex(lead)
	raw := digits.FindString(s[i:])
	if cur == nil && glued(lead) {
		return a, i + len(word(s[i:])), false
	}
	if wide := st.wider(s, i, cur != nil); wide != "" {
		raw = wide
	}
	a = amount{start: i, end: i + len(raw)}
	negative := false
	if cur != nil {
		a.start = i - len(lead) + cur[0]
		a.currency = isoCode(strings.TrimRight(lead[cur[0]:], " (-\t\n"))
		negative = cur[2] != cur[3]
	}
	negative = negative || negativeLead.MatchString(s[max(0, a.start-3):a.start]) ||
		cur == nil && strings.HasSuffix(lead, "(") && strings.HasPrefix(s[a.end:], ")") && strings.Contains(raw, ".")
	rest := s[a.end:]
	suffix := after.FindString(rest)
	if next := strings.TrimLeft(rest[len(suffix):], " "); next != "" && next[0] >= '0' && next[0] <= '9' && strings.ContainsAny(suffix, "$€£¥₹") {
		suffix = "" // the sign of the next amount
	}
	if suffix != "" {
		if !isISO(a.currency) {
			a.currency = isoCode(strings.TrimLeft(suffix, " ,.-/)\n"))
		}
		a.end += len(suffix)
	} else if tail := noCents.FindString(rest); tail != "" {
		a.end += len(tail)
		a.decimals = true
	} else if m := magnitude.FindStringSubmatch(rest); m != nil && a.currency != "" {
		a.end += len(m[0])
		return scaled(a, raw, m[1])
	} else if r, _ := utf8.DecodeRuneInString(rest); unicode.IsLetter(r) && !unitAfter.MatchString(rest) {
		return a, a.end + len(word(rest)), false
	}
	a.counted = unitAfter.MatchString(s[a.end:]) && a.currency == ""
	value, cents, ok := st.parse(raw, a.currency != "")
	if !ok || strings.HasPrefix(strings.TrimLeft(s[a.end:], " "), "%") {
		return a, a.end, false
	}
	if negative {
		value = -value
	}
	a.value, a.decimals = value, a.decimals || cents
	return a, a.end, true
}

// wider reads a number with spaces inside, where that is what it must be.
func (st style) wider(s string, i int, marked bool) string {
	raw := digits.FindString(s[i:])
	if marked {
		if m := loose.FindString(s[i:]); len(m) > len(raw) && !continues(s[i+len(m):]) {
			return m
		}
		return ""
	}
	m := spaced.FindString(s[i:])
	if len(m) <= len(raw) || continues(s[i+len(m):]) {
		return ""
	}
	suffix := after.MatchString(s[i+len(m):]) && !strings.Contains(m, ".")
	if suffix && !st.decimalComma || st.spaces && !strings.Contains(m, ".") {
		return m
	}
	return ""
}

// continues reports whether more digits follow, so that a group was cut short.
func continues(rest string) bool {
	return rest != "" && (rest[0] >= '0' && rest[0] <= '9' ||
		len(rest) > 1 && (rest[0] == '.' || rest[0] == ',') && rest[1] >= '0' && rest[1] <= '9')
}

// glued reports whether the text before a digit makes it part of a word, such
// as INV-2024 or 3/14.
func glued(lead string) bool {
	r, size := utf8.DecodeLastRuneInString(lead)
	switch {
	case size == 0:
		return false
	case unicode.IsLetter(r), r == '_', r == '#', r == '/', r == masked, unicode.IsDigit(r):
		return true
	case r == '-' || r == '.':
		p, n := utf8.DecodeLastRuneInString(lead[:len(lead)-size])
		return n > 0 && (unicode.IsLetter(p) || unicode.IsDigit(p) || p == masked)
	}
	return false
}

// word is the run of letters, digits and joiners at the beginning of s.
func word(s string) string {
	end := strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '/' && r != '_'
	})
	if end < 0 {
		return s
	}
	return s[:max(end, 1)]
}

func scaled(a amount, raw, unit string) (amount, int, bool) {
	factor := Money(1000)
	if unit[0] == 'M' || unit[0] == 'm' {
		factor = 1_000_000
	}
	text := strings.ReplaceAll(raw, ",", ".")
	v, err := ParseMoney(text)
	if err != nil || v > maxWhole*scale/factor {
		return a, a.end, false
	}
	a.value = v * factor
	return a, a.end, true
}

// parse reads a number in either way of writing thousands and decimals.
func (st style) parse(raw string, marked bool) (v Money, decimals, ok bool) {
	raw = strings.NewReplacer(" ", "", "'", "").Replace(raw)
	point, comma := strings.Count(raw, "."), strings.Count(raw, ",")
	last := strings.LastIndexAny(raw, ".,")
	fraction := 0
	if last >= 0 {
		fraction = len(raw) - last - 1
	}
	decimal := byte(0)
	switch {
	case point > 0 && comma > 0:
		decimal = raw[last]
	case point+comma > 1 || point+comma == 0:
	case fraction != 3:
		decimal = raw[last]
	case strings.HasPrefix(raw, "0"), last > 3:
		decimal = raw[last]
	case raw[last] == '.' && st.decimalPoint, raw[last] == ',' && st.decimalComma && !marked:
		decimal = raw[last]
	}
	var b strings.Builder
	for i := range len(raw) {
		switch {
		case raw[i] >= '0' && raw[i] <= '9':
			b.WriteByte(raw[i])
		case i == last && decimal != 0:
			b.WriteByte('.')
		}
	}
	v, err := ParseMoney(b.String())
	return v, decimal != 0 && fraction <= 2, err == nil
}
