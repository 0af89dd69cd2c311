package invoice

import (
	"regexp"
	"slices"
	"strings"
)

// lineItems are the positions of the invoice: rows of a table, else whatever
// counts with quantity and price, and listed amounts.
func (d *document) lineItems() []Line {
	if rows := d.tableRows(); len(rows) > 0 {
		return rows
	}
	var out []Line
	counted := d.countedItems()
	start := 0
	for _, l := range strings.SplitAfter(d.masked, "\n") {
		end := start + len(l)
		if row, ok := d.looseRow(strings.TrimSuffix(l, "\n")); ok {
			out, start = append(out, row), end
			continue
		}
		inside := false
		for _, item := range counted {
			if item.end > start && item.end <= end {
				out = append(out, item.Line)
			}
			inside = inside || item.start < end && item.end > start
		}
		if !inside {
			out = append(out, d.listed(start, end)...)
		}
		start = end
	}
	return out
}

const unitWords = `x|×|\*|pcs?\.?|pieces?|units?|hours?|hrs?\.?|h|days?|weeks?|months?|kg|tons?|tonnes?|litres?|liters?|stk\.?|stück|std\.?|ea\.?`

var (
	// "@ 650.00": a price that a quantity stands before.
	priceMark = regexp.MustCompile(`(?i)(?:@|\bat(?: a (?:rate|price) of)?\b|(?:^|[ \t\n])à|\bzu je\b|\bpriced at\b|\bcosting\b|\bfor\b|×|\*|\bx)[ \t]*\n?[ \t]*$`)
	eachAfter = regexp.MustCompile(`(?i)^[ \t]*(?:each|apiece|ea\b\.?|(?:per[ ]|/[ ]?)\p{L}+|an?[ ](?:unit|piece|item|hour|day|week|month|year|seat|user|licen[cs]e|box|pack|set|ton(?:ne)?|night|person|head)\b|p\.?/?h\b\.?|je\b|pro \p{L}+)`)
	equals    = regexp.MustCompile(`(?i)^[ \t,]*(?:=|:|->|=>|-|\(|equals|is|makes|comes to|totall?ing|amounts to|for a total of|total|which is|that is|i\.e\.)[ \t\n]*\(?$|^[ \t]{2,}$`)
	// "12 x ergonomic chairs": a quantity at the end of what precedes a price.
	quantity  = regexp.MustCompile(`(?i)(?:^|[\s(,:;-])(?:qty\.?:?[ ]?|quantity:?[ ]?)?(\d[\d.,']*)[ \t]?(?:(` + unitWords + `)(?:[ \t\n]+of)?(?:[ \t\n]|$))?[ \t]*([^\d\n][^\n=;|]*?(?:\n[^\n=;|\d]*?)?)?[ \t]*$`)
	bullet    = regexp.MustCompile(`^[ \t]*(?:[-*•+]|\d{1,2}[.)])[ \t]+`)
	stopWords = regexp.MustCompile(`(?i)^(?:and|for|the|of|our|items?|including|plus|we|your|supply of|delivery of|line|to|with|supplied|provided|delivered|as well as|also|services?:|description:|\d+[.)]|[-*•,.:;(])[ :\n]+`)
)

// item is a line and the part of the text that it was read from.
type item struct {
	Line
	start, end int
}

// countedItems reads "12 x chairs @ $650.00 = $7,800" and its relatives.
func (d *document) countedItems() []item {
	var out []item
	from := 0
	for i, price := range d.amounts {
		if price.start < from || price.counted {
			continue
		}
		lead := d.masked[max(from, price.start-mostLead):price.start]
		mark := priceMark.FindStringIndex(lead)
		each := eachAfter.FindString(d.masked[price.end:])
		if mark == nil && each == "" {
			continue
		}
		if mark != nil {
			word := strings.ToLower(strings.TrimSpace(lead[mark[0]:]))
			if word == "for" && each == "" || strings.ContainsAny(word, "x×*") && !price.money() {
				continue
			}
			lead = lead[:mark[0]]
		}
		line, ok := d.counted(lead, price)
		if !ok {
			continue
		}
		end := price.end + len(each)
		if i+1 < len(d.amounts) {
			next := d.amounts[i+1]
			if next.start >= end && equals.MatchString(d.masked[end:next.start]) {
				line.Amount, end = &next.value, next.end
			}
		}
		if line.Amount == nil {
			if v, fits := line.Quantity.times(*line.UnitPrice); fits {
				line.Amount = &v
			}
		}
		out = append(out, item{line, price.start, end})
		from = end
	}
	return out
}

// mostLead is how far before a price its quantity and description can stand, in bytes.
const mostLead = 180

// counted reads the quantity and the description before a price.
func (d *document) counted(lead string, price amount) (Line, bool) {
	if cut := strings.LastIndex(lead, "\n\n"); cut >= 0 {
		lead = lead[cut:]
	}
	lead = lastSentence(lead)
	m := quantity.FindStringSubmatchIndex(lead)
	if m == nil {
		return Line{}, false
	}
	// The last number before the price counts: the expression finds the first.
	for {
		next := quantity.FindStringSubmatchIndex(lead[m[3]:])
		if next == nil || next[2] < 0 {
			break
		}
		shifted := m[3]
		for k := range next {
			if next[k] >= 0 {
				next[k] += shifted
			}
		}
		m = next
	}
	q, _, ok := d.style.parse(strings.TrimRight(lead[m[2]:m[3]], ".,"), false)
	if !ok || q <= 0 || before.MatchString(lead[:m[2]]) || after.MatchString(lead[m[3]:]) {
		return Line{}, false // none, or money itself
	}
	desc := ""
	if m[6] >= 0 && strings.ContainsRune(lead[m[6]:m[7]], masked) {
		return Line{}, false // "on 4 and 5 May": part of a date
	}
	if m[6] >= 0 {
		desc = description(lead[m[6]:m[7]])
	}
	head := strings.Trim(lead[:m[2]], " \t")
	if desc == "" || unitOnly.MatchString(desc) || strings.HasSuffix(head, ":") || strings.HasSuffix(head, "(") {
		if cut := strings.LastIndexAny(strings.TrimRight(head, " :-,(\n"), "\n;.="); cut >= 0 {
			head = head[cut+1:]
		}
		if better := description(head); better != "" {
			desc = better
		}
	}
	return Line{Description: desc, Quantity: &q, UnitPrice: &price.value}, desc != ""
}

var announced = regexp.MustCompile(`(?i)^.*\binvoice\b.*?\bfor |^.*\binvoice\b.* - `)

var unitOnly = regexp.MustCompile(`(?i)^(?:` + unitWords + `)$`)

func description(s string) string {
	s = strings.ReplaceAll(s, "\n", " ")
	s = strings.Map(func(r rune) rune {
		if r == masked {
			return -1
		}
		return r
	}, s)
	s = blanks.ReplaceAllString(s, " ")
	s = announced.ReplaceAllString(s, "")
	for {
		s = strings.Trim(s, " \t-,:;(=|•*@#.")
		short := stopWords.ReplaceAllString(s, "")
		if short == s {
			break
		}
		s = short
	}
	s = trailing.ReplaceAllString(s, "")
	if linking.MatchString(s) {
		return ""
	}
	return strings.Trim(s, " -,:;(")
}

var linking = regexp.MustCompile(`(?i)^(?:and|or|for|the|of|at|to|a|an|with)$`)

var trailing = regexp.MustCompile(`(?i)[ ,(:-]+(?:x|×|qty\.?:?|quantity:?|at|priced|for|of|charged|billed|unit price:?|rate:?|price:?|each)$`)

// listed reads a line of one text and one amount.
func (d *document) listed(start, end int) []Line {
	within := slices.DeleteFunc(slices.Clone(d.between(start, end)), func(a amount) bool { return !a.money() })
	if len(within) != 1 {
		return nil
	}
	a := within[0]
	head, rest := d.masked[start:a.start], strings.Trim(d.masked[min(a.end, end):end], " .|\n")
	isBullet := bullet.MatchString(head)
	head = bullet.ReplaceAllString(head, "")
	if !isBullet && !listing.MatchString(head) || rest != "" || sumLine.MatchString(head) || len(head) > 120 {
		return nil
	}
	desc := description(head)
	if desc == "" {
		return nil
	}
	return []Line{{Description: desc, Amount: &a.value}}
}

var (
	listing = regexp.MustCompile(`(?:[:|\t]| {2,}|\.{3,}| - )[ \t]*$`)
	sumLine = regexp.MustCompile(`(?i)\b(?:sub-?[ ]?total|total|tax|vat|gst|mwst|ust|balance|due|paid|deposit|payable|amount|subtotal|net|gross|summe|betrag|discount|terms|budget|limit|order value|previous|currency|rechnungsbetrag|tva|montant|rate|moms|hst|iva|btw|amt|pay|sum)\b`)
)
