package invoice

import (
	"regexp"
	"strings"
	"unicode"
)

// accept is the name in a candidate, or "" when it is none or the customer's.
func (d *document) accept(raw string) string {
	name := cleanName(raw)
	letters := 0
	for _, r := range name {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	if letters < 2 || len(name) > 80 || strings.Contains(name, "@") || notName.MatchString(name) || d.parties.has(name) {
		return ""
	}
	return name
}

// ofGoods tells an invoice for goods from a place from one from a vendor.
var ofGoods = regexp.MustCompile(`(?i)\b(?:for|covering|of the|relating)\b`)

var notName = regexp.MustCompile(`(?i)^(?:us|me|you|your|our|the|this|that|we|i|it|a|an|my|their|his|her|its|which|invoice|bill|date|n/?a|none|unknown|above|below|next|last|today|same|address|details|here|there|attached|account|bank)\b(?:[^A-Z]*$|$)|^(?:invoice|inv|dt|po|bill|rechnung|facture|factura|total|tax invoice|amount|description|page|due|payment|subject|re|fwd?|your|our|number|date|statement|quantity|qty|item)\b`)

var nameEnd = regexp.MustCompile(`(?i)\n|;|\||\t| {2,}| ?[([<{]| - | -- |[:!?]|\.[ ]+(?-i:[\p{Lu}\d])|\.$|,| (?:i|we|you|dated|invoice|inv|bill|for|to|on|hereby|with|has|have|had|is|was|are|in the|in respect|regarding|re|total(?:s|ling)?|amount(?:s|ing)?|due|at|by|who|which|that|whose|account|please|via|per|no|number|our|your|against|covering|under|and (?:is|the|was|our|your)|of (?-i:\x01|\d))\b`)

// cleanName cuts a candidate where the name ends. A comma or point before a
// legal form belongs to the name.
func cleanName(s string) string {
	s = strings.Trim(strings.TrimSpace(s), `"'*-•#> `)
	s = leadIn.ReplaceAllString(s, "")
	if m := legalFirst.FindStringSubmatch(s); m != nil {
		s = m[1]
	}
	pos := 0
	for {
		at := nameEnd.FindStringIndex(s[pos:])
		if at == nil {
			break
		}
		cut := pos + at[0]
		if m := legalHead.FindString(s[cut:]); s[cut] == ',' && m != "" {
			pos = cut + len(m)
			continue
		}
		if s[cut] == '.' {
			if m := legalHead.FindString(s[cut+1:]); m != "" {
				pos = cut + 1 + len(m)
				continue
			}
			if dotted.MatchString(s[:cut+1]) {
				cut++
			} else if abbreviated.MatchString(s[:cut]) {
				pos = cut + 1
				continue
			}
		}
		s = s[:cut]
		break
	}
	s = strings.Trim(s, `"' ,;:-`)
	if !strings.HasSuffix(s, "..") && dotted.MatchString(s) {
		return s
	}
	return strings.TrimRight(s, ".")
}

// abbreviated ends in a word that a point shortens: an initial, a title.
var abbreviated = regexp.MustCompile(`(?:^|[ .])(?:\p{Lu}|St|Dr|Mr|Mrs|Ms|Prof|Bros|Messrs|Gebr|Mt)$`)

// legalFirst is a name up to its legal form, where a sentence goes on after it.
var legalFirst = regexp.MustCompile(`^(` + legalName.String() + `)[ ][\p{Ll}]`)

// leadIn stands before a name without being part of it.
var leadIn = regexp.MustCompile(`(?i)^(?:(?:the |our )?(?:desk|office|offices|team|people) (?:of|at) |the undersigned,? |undersigned,? )`)

var dotted = regexp.MustCompile(`(?i)[ ,](?:Ltd|Inc|Corp|Co|(?:\pL\.)+\pL)\.$`)
