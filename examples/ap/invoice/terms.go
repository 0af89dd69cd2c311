package invoice

import (
	"regexp"
	"strings"
)

var (
	termsLabel  = regexp.MustCompile(`(?i)^(?:payment[ _]terms?|terms(?: of payment)?|terms? ?& ?conditions|zahlungsbedingung(?:en)?|zahlungsziel|conditions de (?:paiement|règlement)|condiciones de pago|betalingstermijn|payment)$`)
	termsInline = regexp.MustCompile(`(?i)\b(?:payment terms?|terms(?: of payment)?)[ \t]*(?::|are|is|-|=)[ \t]*([^.;,\n|]+)`)
	termsPhrase = []*regexp.Regexp{
		regexp.MustCompile(`(?i)\b\d{1,2}(?:\.\d)?%?[ ]?/[ ]?\d{1,3},?[ ](?:net|n/?)[ -]?\d{1,3}\b(?: days)?`),
		regexp.MustCompile(`(?i)\bnet[ -]?(?:\d{1,3}|ten|fifteen|thirty|forty-five|sixty|ninety)\b(?: days)?(?: (?:eom|end of month))?`),
		regexp.MustCompile(`(?i)\b\d{1,3}[ -]days?,? net\b`),
		regexp.MustCompile(`(?i)\b(?:payable|due|payment|pay|please (?:pay|settle|remit|transfer)|settle\w*|remit\w*|zahlbar)\b[^.;|]{0,60}?\b(?:within|in|innerhalb(?: von)?|binnen|sous) (?:\d{1,3}|two|four|seven|ten|fourteen|thirty|sixty)(?: \(\d+\))? (?:business |calendar |working )?(?:days?|tagen?|jours|weeks?)(?: (?:netto|net|(?:of|from|after) (?:the )?(?:invoice(?: date)?|receipt|date|issue)))?`),
		regexp.MustCompile(`(?i)\b(?:due|payable) \d{1,3} days (?:from|after) (?:the )?(?:date of (?:the |this )?invoice|invoice date|receipt|invoice|date)`),
		regexp.MustCompile(`(?i)\b(?:within|innerhalb(?: von)?) \d{1,3} (?:business |calendar |working )?(?:days|tagen?)(?: net)?`),
		regexp.MustCompile(`(?i)\b(?:\d{1,3}[ -]days? (?:terms|payment)|\d{1,3} tage netto)\b`),
		regexp.MustCompile(`(?i)\b(?:(?:due|payable) (?:up)?on receipt|(?:due|payable) immediately|cash on delivery|zahlbar sofort|payment in advance)\b`),
	}
	fraction = regexp.MustCompile(`^[.,]\d`) // "net 280.00" is an amount
	blanks   = regexp.MustCompile(`\s+`)
	absent   = regexp.MustCompile(`(?i)^(?:n/?a|none|-+|nil|tbd|\?)?$`)
)

// terms is when payment is asked for, in the text's own words.
func (d *document) terms() string {
	if t := d.lookup(termsLabel, asTerms); t != "" {
		return t
	}
	flat := blanks.ReplaceAllString(d.text, " ")
	if m := termsInline.FindStringSubmatch(d.text); m != nil {
		if t := asTerms(m[1]); t != "" {
			return t
		}
	}
	for _, re := range termsPhrase {
		at := re.FindStringIndex(flat)
		if at != nil && !fraction.MatchString(flat[at[1]:]) {
			return strings.TrimSpace(flat[at[0]:at[1]])
		}
	}
	return ""
}

// asTerms keeps the first sentence of a value that speaks of payment.
func asTerms(v string) string {
	v, _, _ = strings.Cut(v, ". ")
	v = strings.TrimRight(strings.TrimSpace(v), ".,;")
	if absent.MatchString(v) || len(v) > 120 || !termWord.MatchString(v) {
		return ""
	}
	return v
}

var termWord = regexp.MustCompile(`(?i)net|days?|tage|jours|receipt|due|month|immediate|advance|delivery|prepaid|cash|week|eom|cod\b|cia\b|\d`)
