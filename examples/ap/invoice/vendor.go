package invoice

import (
	"regexp"
	"strings"
	"unicode"
)

func isLetterOrDigit(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

var (
	vendorLabel = regexp.MustCompile(`(?i)^(?:vendor|supplier|seller|sold by|bill(?:ed)?[ -]from|billed by|invoice from|invoiced by|issued by|issuer|from|frm|payee|remit(?:tance)?(?: payment)?[ -]?to|payable to|pay to|provider|service provider|contractor|merchant|company|company name|beneficiary|account name|account holder|vendor name|supplier name|lieferant|verkäufer|aussteller|fournisseur|émetteur|vendeur|proveedor|emisor|leverancier|fornitore|von|de)$`)
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
	vendorVerb = regexp.MustCompile(`(?m)(?:^|[.,:]\s+|\bthat\s+)(?:The\s+)?(` + nameWord + `(?:[ ](?:&|and|of|` + nameWord + `)){0,5}(?:,? ` + legalForm + `\.?)?)(?: \([^)\n]*\))?(?:,)?[ \n](?:(?:hereby|has|have|is|would like to|wishes to|kindly|now)[ \n])*(?:invoic(?:es|ed|ing)|bill(?:s|ed|ing)|charg(?:es|ed|ing)|request(?:s|ing)? payment|submits?|presents)\b`)
	titleLine  = regexp.MustCompile(`(?i)^(?:(?:tax|vat|sales|commercial|original|final|proforma|customer|your|electronic|e-?)[ -]*)*(?:invoice|bill|rechnung|facture|factura|statement|receipt|quotation|quote|estimate|purchase order|order confirmation|reminder)\b.{0,40}$`)
	greeting   = regexp.MustCompile(`(?im)^[ \t]*(?:dear|hello|hi|hey|good (?:morning|afternoon|day)|to whom|greetings|sehr geehrte|bonjour|hola)\b`)
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

func (d *document) vendorField() string {
	mail := subjectLine.MatchString(d.text)
	for _, f := range d.fields {
		if mail && f.label == "from" {
			continue // the person who sent it; see sender
		}
		if !vendorLabel.MatchString(f.label) || strings.Contains(f.value, "@") {
			continue
		}
		if name := d.accept(f.value); name != "" {
			return name
		}
	}
	return ""
}

var subjectLine = regexp.MustCompile(`(?im)^subject:`)

func (d *document) vendorInProse() string {
	for i, re := range vendorProse {
		for _, at := range re.FindAllStringIndex(d.masked, -1) {
			if i == 0 && ofGoods.MatchString(d.masked[at[0]:at[1]]) {
				continue
			}
			rest := d.masked[at[1]:min(len(d.masked), at[1]+120)]
			rest = strings.TrimPrefix(leadIn.ReplaceAllString(rest, ""), "the ")
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
