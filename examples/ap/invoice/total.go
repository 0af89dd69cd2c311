package invoice

import (
	"regexp"
	"slices"
	"strings"
)

// sums are the amounts that an invoice adds up to.
type sums struct {
	subtotal, tax, total *Money
	currency             string // of the total, as written
}

const payable = `due|payable|owing|owed|outstanding|to pay|to be paid|requested|remaining`

// totals are the ways to introduce the total, the surest first. Where several
// stand, what is still to be paid is what the invoice asks for.
var totals = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b(?:total|amount|balance|sum|net)(?: amount| balance| invoice| sum| now)?(?: is)?(?: now| currently)? (?:` + payable + `)\b|\boutstanding(?: balance| amount)?:|\bdue total\b|\bplease (?:pay|remit|transfer)\b|\bpay this amount\b|zu zahlen(?:der betrag)?|zahlbetrag|(?:net|total) à payer|montant dû|total a pagar|te betalen`),
	regexp.MustCompile(`(?i)\bgrand[ -]?total\b|\b(?:invoice|bill|final|overall|gross|full)[ -](?:total|amount|value|sum)\b|\btotal (?:of (?:this |the )?|this )?(?:invoice|bill|amount|sum|price|cost|charges?|payable|value|gross|gbp|usd|eur)\b|\btotal[ (,]{1,2}(?:including|incl?\b|inkl|with|ttc)\.?(?: ?[\d.,]* ?%? ?(?:sales tax|vat|tax|gst|mwst|ust|tva)\b)?|\b(?:gesamt|rechnungs|brutto|end)(?:betrag|summe)\b|\btotal (?:ttc|general|factura)\b|\bimporte total\b|\btotal for (?:this|the) (?:invoice|period|month)\b`),
	regexp.MustCompile(`(?i)\btotal(?:s|led|ling|ing)?\b|\b(?:altogether|all in all|in all)\b|\bgross\b|\bsumme\b|\btotale\b|\btotaal\b|\bgesamt\b`),
	regexp.MustCompile(`(?i)\b(?:comes?|came|coming|amounts?|amounting|adds? up|runs?|brings? (?:\w+ ){0,3})[ \n](?:up )?to\b|\b(?:the |a )?(?:sum|amount) of\b|\bin the amount of\b|\bwe (?:hereby )?(?:invoice|bill|charge)(?: you)?\b|\b(?:invoice|bill)\b[^.\n]{0,40}\b(?:is )?for\b|\bamount\b|\bbetrag\b|\bmontant\b|\bcharge[sd]?\b|\bbelaufen sich auf\b|\bprice\b|\bfee\b`),
}

var (
	notTotalBefore = regexp.MustCompile(`(?i)(?:sub|sub-|sub |net|line|tax|vat|gst|page|item|qty|order|po|contract|credit|estimated|running|previous|prior|last|year|budget|hours?|quoted?|unit|tax(?:able)?|paid|deposit|discount|zwischen|zw\.)[ -]?$`)
	notTotalAfter  = regexp.MustCompile(`(?i)^,?[ \t]*\(?(?:excl|ex\.? |before|net\b|without|tax\b|vat\b|gst\b|hours|hrs|qty|quantity|items|units|weight|discount|savings?|paid|pages|ht\b|hors|netto|exkl|zzgl|days|credit|shipping|of page)`)
	subtotalWords  = regexp.MustCompile(`(?i)\bsub[ -]?total\b|\b(?:net (?:total|amount|sum)|total (?:net|excl\w*|before (?:tax|vat)|ht\b|ex)|netto(?:betrag|summe)?|zwischensumme|sous-total|total ht|base imponible|taxable amount)\b`)
	taxWords       = regexp.MustCompile(`(?i)\b(?:sales tax|vat|gst|hst|tax|mwst|ust|tva|iva|btw|moms|umsatzsteuer|mehrwertsteuer)\b\.?`)
	notTax         = regexp.MustCompile(`(?i)^(?:[ -]*(?:invoice|id|reg|no|number|total|point|date|exempt|inclusive|included|due date|rate)\b|[^\n\d]{0,20}\bid\b)`)
	notTaxBefore   = regexp.MustCompile(`(?i)(?:before|incl\.?|including|inc\.?|excl\.?|excluding|without|with|ex|inkl\.?|of)[ ]?(?:\d+(?:[.,]\d+)? ?% ?)?$`)
)

func (d *document) sums() sums {
	var s sums
	s.subtotal = d.labelledSum(subtotalWords, nil, nil)
	s.tax = d.labelledSum(taxWords, notTaxBefore, notTax)
	for i, words := range totals {
		if i == 1 {
			if a, ok := d.payableAmount(); ok {
				s.total, s.currency = &a.value, a.currency
				return s
			}
		}
		if a, ok := d.totalAfter(words); ok {
			s.total, s.currency = &a.value, a.currency
			return s
		}
	}
	if a, ok := d.onlyAmount(); ok {
		s.total, s.currency = &a.value, a.currency
	}
	return s
}

// totalAfter is the largest amount that the words introduce, or, in prose, that
// stands right before them: "$500.00 total". The largest, so that a second and
// lower total cannot slip an invoice past those who would have to be asked.
func (d *document) totalAfter(words *regexp.Regexp) (found amount, ok bool) {
	take := func(a amount) {
		if a.value > found.value {
			found, ok = a, true
		}
	}
	for _, at := range words.FindAllStringIndex(d.flat, -1) {
		start, end := at[0], at[1]
		if notTotalBefore.MatchString(d.masked[max(0, start-14):start]) || notTotalAfter.MatchString(d.masked[end:]) {
			continue
		}
		if closed.MatchString(d.masked[end:]) {
			if a, here := d.leadingInto(start); here {
				take(a)
				continue
			}
		}
		if a, here := d.reach(end); here && a.value > 0 {
			take(a)
		} else if a, here := d.leadingInto(start); here {
			take(a)
		}
	}
	return found, ok
}

func (d *document) labelledSum(words, notBefore, notAfter *regexp.Regexp) *Money {
	for _, at := range words.FindAllStringIndex(d.flat, -1) {
		if notBefore != nil && notBefore.MatchString(d.masked[max(0, at[0]-20):at[0]]) ||
			notAfter != nil && notAfter.MatchString(d.masked[at[1]:]) {
			continue
		}
		if a, ok := d.reach(at[1]); ok {
			return &a.value
		}
	}
	return nil
}

var (
	tableGap   = regexp.MustCompile(`[|\t]|[^ \n] {2,}[^ \n]`)
	cutLabels  = regexp.MustCompile(`(?i)\bsub[ -]?total|\btotal\b|\btax\b|\bvat\b|\bbalance\b|\bamount due\b|\bpaid\b|\bdeposit\b|\bsubject\b|\bdiscount\b`)
	codeBefore = regexp.MustCompile(`(?:` + isoCodes + `)\)?[ :|]*$`)
)

// reach is the amount that a label ending at pos introduces.
func (d *document) reach(pos int) (amount, bool) {
	rest := d.masked[pos:min(len(d.masked), pos+240)]
	line, _, _ := strings.Cut(rest, "\n")
	within := d.between(pos, pos+len(line))
	rowStart := max(strings.LastIndex(d.masked[:pos], "\n")+1, pos-200)
	if tableGap.MatchString(d.masked[rowStart:pos+len(line)]) && len(within) > 0 && firstSentence(line) == line {
		// In a row of a table the sum stands last, unless another label follows.
		if cut := cutLabels.FindStringIndex(line); cut != nil {
			within = d.between(pos, pos+cut[0])
		}
		if len(within) > 0 {
			return d.coded(within[len(within)-1]), true
		}
	}
	if len(within) == 0 || strings.TrimSpace(line) == "" {
		// The value may stand on the next line.
		line = rest
	}
	if first := firstSentence(line); strings.TrimSpace(first) != "" {
		line = first
	}
	if cut := cutLabels.FindStringIndex(line); cut != nil {
		line = line[:cut[0]]
	}
	within = d.between(pos, pos+len(line))
	for _, a := range within {
		if a.money() {
			return d.coded(a), true
		}
	}
	for _, a := range within {
		if !a.counted && a.start-pos < 40 {
			return d.coded(a), true
		}
	}
	return amount{}, false
}

// coded adds the currency that the label names: "Total (EUR): 5".
func (d *document) coded(a amount) amount {
	if a.currency == "" {
		if m := codeBefore.FindString(d.masked[max(0, a.start-12):a.start]); m != "" {
			a.currency = isoCode(m[:3])
		}
	}
	return a
}

func (d *document) between(start, end int) []amount {
	at := func(pos int) int {
		i, _ := slices.BinarySearchFunc(d.amounts, pos, func(a amount, pos int) int { return a.start - pos })
		return i
	}
	from := at(start)
	return d.amounts[from:max(from, at(end))]
}

// leadingInto is the amount right before pos, with at most a small word between.
func (d *document) leadingInto(pos int) (amount, bool) {
	within := d.between(max(0, pos-60), pos)
	for i := len(within) - 1; i >= 0; i-- {
		a := within[i]
		if a.end > pos || !a.money() {
			continue
		}
		return a, between.MatchString(d.masked[a.end:pos])
	}
	return amount{}, false
}

// closed follows a word that ends what it says: "$500.00 total)".
var closed = regexp.MustCompile(`^ ?(?:[).,;]|\n|$)`)

var between = regexp.MustCompile(`(?i)^ *(?:in|as|is|is the|is your|\()? *$`)

var payableAfter = regexp.MustCompile(`^[ \n]*(?:\([^)\n]*\)[ \n]*)?(?:is |are |now |becomes )*(?:payable|due|outstanding)\b(?:[^:]|$)`)

// payableAmount is the largest amount that prose calls due: "making £4,314 payable".
func (d *document) payableAmount() (found amount, ok bool) {
	for _, a := range d.amounts {
		if a.money() && a.value > found.value && payableAfter.MatchString(d.masked[a.end:]) {
			found, ok = a, true
		}
	}
	return found, ok
}

// onlyAmount is the amount of a text that names just one.
func (d *document) onlyAmount() (amount, bool) {
	var found amount
	for _, a := range d.amounts {
		if !a.money() || a.value <= 0 {
			continue
		}
		if found.value != 0 && found.value != a.value {
			return amount{}, false
		}
		found = a
	}
	return found, found.value != 0
}
