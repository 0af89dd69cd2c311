package invoice

import (
	"regexp"
	"strings"
	"unicode"
)

func isLetterOrDigit(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

var (
	vendorLabel = regexp.MustCompile(`(?i)^(?:vendor|supplier|seller|sold by|bill(?:ed)?[ -]from|billed by|invoice from|invoiced by|issued by|issuer|from|payee|remit(?:tance)?(?: payment)?[ -]?to|payable to|pay to|provider|service provider|contractor|merchant|company|company name|beneficiary|account name|account holder|vendor name|supplier name|lieferant|verkäufer|aussteller|fournisseur|émetteur|vendeur|proveedor|emisor|leverancier|fornitore|von|de)$`)
	vendorProse = []*regexp.Regexp{
		regexp.MustCompile(`(?i)\b(?:invoice|inv|bill)\b(?:[^.]|\.[^ \n]|\. ?\d){0,60}?\b(?:from|issued by|raised by|submitted by|sent by|presented by)[ \n]+`),
		regexp.MustCompile(`(?i)\b(?:vendor|supplier|seller|biller|payee)(?: is| name is)?[ ]*[:=-][ ]*`),
		regexp.MustCompile(`(?i)\b(?:bill(?:ed)? from|sold by|issued by|billed by|invoiced by)[ :\n]+`),
		regexp.MustCompile(`(?i)\b(?:services?|goods|work|items|products?)\b[^.]{0,60}?\b(?:provided|rendered|supplied|delivered|performed|carried out|done) by[ \n]+`),
		regexp.MustCompile(`(?i)\b(?:payable to|pay to the order of|checks? to|cheques? to|remit(?:tance)?(?: payment)? to|payment to|transfer (?:it )?to|account of|in favou?r of)[ :\n]+(?:the account of )?`),
		regexp.MustCompile(`(?i)\bon behalf of[ \n]+`),
		regexp.MustCompile(`(?i)\b(?:we|here) at[ \n]+|\bwe,[ \n]+`),
		regexp.MustCompile(`(?i)\b(?:doing business with|choosing|your business with|business,)[ \n]+`),
	}
	vendorVerb = regexp.MustCompile(`(?m)(?:^|[.,:]\s+|\bthat\s+)(?:The\s+)?(` + nameWord + `(?:[ ](?:&|and|of|` + nameWord + `)){0,5}(?:,? ` + legalForm + `\.?)?)(?:,)?[ \n](?:(?:hereby|has|have|is|would like to|wishes to|kindly|now)[ \n])*(?:invoic(?:es|ed|ing)|bill(?:s|ed|ing)|charg(?:es|ed|ing)|request(?:s|ing)? payment|submits?|presents)\b`)
	titleLine  = regexp.MustCompile(`(?i)^(?:(?:tax|vat|sales|commercial|original|final|proforma|customer|your|electronic|e-?)[ -]*)*(?:invoice|bill|rechnung|facture|factura|statement|receipt|quotation|quote|estimate|purchase order|order confirmation|reminder)\b.{0,40}$`)
	greeting   = regexp.MustCompile(`(?im)^[ \t]*(?:dear|hello|hi|hey|good (?:morning|afternoon|day)|to whom|greetings|sehr geehrte|bonjour|hola)\b`)
	closing    = regexp.MustCompile(`(?im)^[ \t]*(?:(?:kind|best|warm|many)?[ ]?(?:regards|wishes|thanks)|sincerely|yours(?: (?:sincerely|faithfully|truly))?|thank you|thanks|cheers|cordially|respectfully|mit freundlichen grüßen|viele grüße|cordialement|saludos)[ \t]*[,.!-]*[ \t]*\n`)
	roleLine   = regexp.MustCompile(`(?i)^(?:accounts?(?: receivable| department| team)?|billing(?: department| team)?|finance(?: department| team)?|managing director|director|ceo|cfo|owner|founder|manager|partner|account manager|sales|the (?:billing|accounts|finance) team)$`)
	addressish = regexp.MustCompile(`(?i)^\d|\b(?:street|st\.|road|rd\.?|avenue|ave\.?|suite|floor|lane|drive|boulevard|blvd|straße|strasse|str\.|weg|platz|rue|calle|unit \d|building|house|zip|postcode)\b|\b\d{4,6}\b|@|www\.|https?:`)
)

// vendor is the party that asks to be paid, never the one that is billed.
func (d *document) vendor() string {
	for _, find := range []func() string{
		d.vendorField, d.vendorInProse, d.letterhead, d.legalNames, d.signature, d.titleName, d.sender, d.origin,
	} {
		if name := find(); name != "" {
			return name
		}
	}
	return ""
}

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

var notName = regexp.MustCompile(`(?i)^(?:us|me|you|your|our|the|this|that|we|i|it|a|an|my|their|his|her|its|which|invoice|bill|date|n/?a|none|unknown|above|below|next|last|today|same|address|details|here|there|attached|account|bank)\b(?:[^A-Z]*$|$)|^(?:invoice|bill|rechnung|facture|factura|total|tax invoice|amount|description|page|due|payment|subject|re|fwd?|your|our|number|date|statement|quantity|qty|item)\b`)

var nameEnd = regexp.MustCompile(`(?i)\n|;|\||\t| {2,}| ?[([<{]| - | -- |[:!?]|\.[ ]+(?-i:[\p{Lu}])|\.$|,| (?:dated|invoice|inv|bill|for|to|on|hereby|with|has|have|had|is|was|are|in the|in respect|regarding|re|total(?:s|ling)?|amount(?:s|ing)?|due|at|by|who|which|that|whose|account|please|via|per|no|number|our|your|against|covering|under|and (?:is|the|was|our|your)|of (?-i:\x01|\d))\b`)

// cleanName cuts a candidate where the name ends. A comma or point before a
// legal form belongs to the name.
func cleanName(s string) string {
	s = strings.Trim(strings.TrimSpace(s), `"'*-•#> `)
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

var dotted = regexp.MustCompile(`(?i)[ ,](?:Ltd|Inc|Corp|Co|(?:\pL\.)+\pL)\.$`)

func (d *document) vendorField() string {
	for _, f := range d.fields {
		if !vendorLabel.MatchString(f.label) || strings.Contains(f.value, "@") {
			continue
		}
		if name := d.accept(f.value); name != "" {
			return name
		}
	}
	return ""
}

func (d *document) vendorInProse() string {
	for i, re := range vendorProse {
		for _, at := range re.FindAllStringIndex(d.masked, -1) {
			rest := d.masked[at[1]:min(len(d.masked), at[1]+120)]
			rest = strings.TrimPrefix(rest, "the ")
			name := d.accept(rest)
			if whole := d.accept(blanks.ReplaceAllString(rest, " ")); !legalEnd.MatchString(name) && legalEnd.MatchString(whole) {
				name = whole // the line ended within the name
			}
			first := []rune(name + " ")[0]
			if name != "" && (i < 3 || unicode.IsUpper(first) || unicode.IsDigit(first) || legalEnd.MatchString(name)) {
				return name
			}
		}
	}
	for _, m := range vendorVerb.FindAllStringSubmatch(d.masked, -1) {
		if name := d.accept(m[1]); name != "" {
			return name
		}
	}
	return ""
}

// letterhead is a name at the top of the page, or beside the title.
func (d *document) letterhead() string {
	lines := strings.Split(d.masked, "\n")
	seen := 0
	for i, l := range lines {
		l = strings.TrimSpace(l)
		if l == "" || ruled.MatchString(l) {
			continue
		}
		if seen++; seen > 4 || greeting.MatchString(l) {
			return ""
		}
		first := cells(l)[0]
		bareLine := titleWord.ReplaceAllString(first, "")
		switch {
		case d.parties.lines[i], titleLine.MatchString(first) && bareLine == "", labelled.MatchString(first) && !legalEnd.MatchString(first), addressish.MatchString(first) && !legalName.MatchString(first):
			if seen > 1 && labelled.MatchString(first) {
				return ""
			}
			continue
		case titleLine.MatchString(first):
			continue
		}
		bareLine = strings.Trim(bareLine, " -|,:")
		if strings.HasSuffix(first, ".") && !legalEnd.MatchString(first) || len(strings.Fields(bareLine)) > 7 {
			if m := legalName.FindStringSubmatch(first); m == nil {
				return ""
			}
			continue
		}
		if name := d.accept(bareLine); name != "" {
			return name
		}
	}
	return ""
}

var titleWord = regexp.MustCompile(`(?i)[ -]*\b(?:(?:tax|vat|sales|commercial) )?(?:invoice|rechnung|facture|factura)\b[ ]*(?:#|no\.?|number|nr\.?)?[ :]*[\w/-]*\d[\w/-]*[ ]*$|[ -]*\b(?:(?:tax|vat|sales|commercial) )?(?:invoice|rechnung|facture|factura)[ -]*$`)

// legalNames is the first name with a legal form that is not the customer's.
func (d *document) legalNames() string {
	lines := strings.Split(d.masked, "\n")
	for i, l := range lines {
		if d.parties.lines[i] {
			continue
		}
		for _, m := range legalName.FindAllStringSubmatch(l, -1) {
			if name := d.accept(leadWords.ReplaceAllString(m[0], "")); name != "" {
				return name
			}
		}
	}
	return ""
}

var leadWords = regexp.MustCompile(`^(?:(?:Invoice|INVOICE|From|FROM|Dear|We|The|This|At|By|To|For|Thanks|Regards|Vendor|Bill)[ ,:]+)+`)

// signature is the company below the closing words, else whoever signed.
func (d *document) signature() string {
	at := closing.FindAllStringIndex(d.masked+"\n", -1)
	if at == nil {
		return ""
	}
	rest := (d.masked + "\n")[at[len(at)-1][1]:]
	var names []string
	for _, l := range strings.Split(rest, "\n") {
		l = strings.TrimSpace(l)
		if strings.HasPrefix(l, "--") || l == "" && len(names) == 0 {
			continue
		}
		if l == "" || len(names) == 4 {
			break
		}
		if roleLine.MatchString(l) || addressish.MatchString(l) || strings.ContainsRune(l, masked) {
			continue
		}
		parts := strings.Split(l, ", ")
		for _, p := range parts {
			if name := d.accept(p); name != "" && !roleLine.MatchString(name) {
				names = append(names, name)
			}
		}
	}
	switch {
	case len(names) == 0:
		return ""
	case len(names) == 1:
		return names[0]
	}
	return names[1]
}

// titleName is a name before or after the title in one line: "ACME INVOICE".
func (d *document) titleName() string {
	m := possessive.FindStringSubmatch(d.masked)
	if m == nil {
		return ""
	}
	return d.accept(leadWords.ReplaceAllString(m[1], ""))
}

var possessive = regexp.MustCompile(`(` + nameWord + `(?:[ ](?:&|and|of|` + nameWord + `)){0,4})(?:'s)?[ ](?i:invoice|bill)\b`)

// sender is the display name of an e-mail's From line.
func (d *document) sender() string {
	for _, l := range strings.Split(d.text, "\n") {
		if m := fromHeader.FindStringSubmatch(strings.TrimSpace(l)); m != nil {
			return d.accept(departments.ReplaceAllString(strings.Trim(m[1], `" `), ""))
		}
	}
	return ""
}

// origin is a name after a "from" that nothing else explains.
func (d *document) origin() string {
	for _, at := range fromAnybody.FindAllStringIndex(d.masked, -1) {
		name := d.accept(d.masked[at[1]:min(len(d.masked), at[1]+120)])
		if name != "" && unicode.IsUpper([]rune(name)[0]) {
			return name
		}
	}
	return ""
}

var (
	fromAnybody = regexp.MustCompile(`(?i)\bfrom[ \n]+`)
	fromHeader  = regexp.MustCompile(`(?i)^from:[ \t]*(.+?)[ \t]*[<(\[]`)
	departments = regexp.MustCompile(`(?i)[ ,-]*\b(?:billing|accounts?(?: receivable)?|finance|invoices?|invoicing)\b.*$`)
)
