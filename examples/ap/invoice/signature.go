package invoice

import (
	"regexp"
	"strings"
	"unicode"
)

var (
	closing  = regexp.MustCompile(`(?im)^[ \t]*(?:(?:kind|best|warm|many)?[ ]?(?:regards|wishes|thanks)|sincerely|yours(?: (?:sincerely|faithfully|truly))?|thank you|thanks|cheers|cordially|respectfully|mit freundlichen grüßen|viele grüße|cordialement|saludos)[ \t]*[,.!-]*[ \t]*\n`)
	roleLine = regexp.MustCompile(`(?i)^(?:accounts?(?: receivable| department| team)?|billing(?: department| team)?|finance(?: department| team)?|managing director|director|ceo|cfo|owner|founder|manager|partner|account manager|sales|the (?:billing|accounts|finance) team)$`)
)

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
	fromHeader  = regexp.MustCompile(`(?i)^from:[ \t]*(.+?)[ \t]*(?:[<(\[]|$)`)
	departments = regexp.MustCompile(`(?i)[ ,-]*\b(?:billing|accounts?(?: receivable)?|finance|invoices?|invoicing)\b.*$`)
)
