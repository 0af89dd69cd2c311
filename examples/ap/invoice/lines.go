package invoice

import (
	"regexp"
	"strings"
)

// lineItems are the positions of the invoice: rows of a table, else what prose
// counts with quantity and price, else listed amounts.
func (d *document) lineItems() []Line {
	if rows := d.tableRows(); len(rows) > 0 {
		return rows
	}
	if items := d.countedItems(); len(items) > 0 {
		return items
	}
	return d.listedItems()
}

const unitWords = `x|×|\*|pcs?\.?|pieces?|units?|hours?|hrs?\.?|h|days?|weeks?|months?|kg|tons?|tonnes?|litres?|liters?|stk\.?|stück|std\.?|ea\.?`

var (
	// "@ 650.00": a price that a quantity stands before.
	priceMark = regexp.MustCompile(`(?i)(?:@|\bat(?: a (?:rate|price) of)?\b|\bà\b|\bzu je\b|\bpriced at\b|\bcosting\b|\bfor\b|×|\*|\bx)[ \t]*\n?[ \t]*$`)
	eachAfter = regexp.MustCompile(`(?i)^[ \t]*(?:each|apiece|ea\b\.?|(?:per|a|an|/)[ ]?(?:unit|piece|item|hour|hr|h|day|week|month|seat|user|licen[cs]e|box|pack|set|kg|ton(?:ne)?|night|person|head|\p{L}+)\b|p\.?/?h\b\.?|je\b|pro \p{L}+)`)
	equals    = regexp.MustCompile(`(?i)^[ \t,]*(?:=|:|->|=>|-|\(|equals|is|makes|comes to|totall?ing|amounts to|for a total of|total|which is|that is|i\.e\.)[ \t\n]*\(?$`)
	// "12 x ergonomic chairs": a quantity at the end of what precedes a price.
	quantity  = regexp.MustCompile(`(?i)(?:^|[\s(,:;-])(?:qty\.?:?[ ]?|quantity:?[ ]?)?(\d[\d.,']*)[ \t]?(?:(` + unitWords + `)(?:[ \t\n]+of)?(?:[ \t\n]|$))?[ \t]*([^\d\n][^\n=;|]*?(?:\n[^\n=;|\d]*?)?)?[ \t]*$`)
	bullet    = regexp.MustCompile(`^[ \t]*(?:[-*•+]|\d{1,2}[.)])[ \t]+`)
	stopWords = regexp.MustCompile(`(?i)^(?:and|for|the|of|our|items?|including|plus|we|your|supply of|delivery of|line|to|with|supplied|provided|delivered|as well as|also|services?:|description:|\d+[.)]|[-*•,.:;(])[ :\n]+`)
)

// countedItems reads "12 x chairs @ $650.00 = $7,800" and its relatives.
func (d *document) countedItems() []Line {
	var out []Line
	from := 0
	for i, price := range d.amounts {
		if price.start < from || price.counted {
			continue
		}
		lead := d.masked[from:price.start]
		mark := priceMark.FindStringIndex(lead)
		each := eachAfter.FindString(d.masked[price.end:])
		if mark == nil && each == "" {
			continue
		}
		if mark != nil {
			word := strings.ToLower(strings.TrimSpace(lead[mark[0]:]))
			if word == "for" && each == "" {
				continue
			}
			lead = lead[:mark[0]]
		}
		line, ok := d.counted(lead, price, each)
		if !ok {
			continue
		}
		end := price.end + len(each)
		if i+1 < len(d.amounts) {
			next := d.amounts[i+1]
			if next.start >= end && equals.MatchString(d.masked[end:next.start]) {
				v := next.value
				line.Amount = &v
				end = next.end
			}
		}
		if line.Amount == nil {
			if v, fits := line.Quantity.times(*line.UnitPrice); fits {
				line.Amount = &v
			}
		}
		out = append(out, line)
		from = end
	}
	return out
}

// counted reads the quantity and the description before a price.
func (d *document) counted(lead string, price amount, each string) (Line, bool) {
	if len(lead) > 160 {
		lead = lead[len(lead)-160:]
	}
	if cut := strings.LastIndex(lead, "\n\n"); cut >= 0 {
		lead = lead[cut:]
	}
	if all := sentence.FindAllStringIndex(lead, -1); all != nil {
		lead = lead[all[len(all)-1][0]+1:]
	}
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
	if !ok || q <= 0 {
		return Line{}, false
	}
	desc := ""
	if m[6] >= 0 {
		desc = description(lead[m[6]:m[7]])
	}
	before := strings.TrimSpace(lead[:m[2]])
	if desc == "" || unitOnly.MatchString(desc) || strings.HasSuffix(before, ":") {
		if cut := strings.LastIndexAny(strings.TrimRight(before, " :-,(\n"), "\n;.="); cut >= 0 {
			before = before[cut+1:]
		}
		if better := description(before); better != "" {
			desc = better
		}
	}
	v := price.value
	return Line{Description: desc, Quantity: &q, UnitPrice: &v}, desc != ""
}

var announced = regexp.MustCompile(`(?i)^.*\binvoice\b.*?\bfor `)

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
	return strings.Trim(s, " -,:;(")
}

var trailing = regexp.MustCompile(`(?i)[ ,(:-]+(?:qty\.?:?|quantity:?|at|priced|for|of|charged|billed|unit price:?|rate:?|price:?|each)$`)

// listedItems reads bullets and rows of one text and one amount.
func (d *document) listedItems() []Line {
	var out []Line
	start := 0
	for _, l := range strings.SplitAfter(d.masked, "\n") {
		within := d.between(start, start+len(l))
		pos := start
		start += len(l)
		if len(within) != 1 || !within[0].money() {
			continue
		}
		a := within[0]
		rest := strings.TrimSpace(d.masked[a.end : pos+len(l)])
		head := d.masked[pos:a.start]
		isBullet := bullet.MatchString(head)
		head = bullet.ReplaceAllString(head, "")
		listed := isBullet || listing.MatchString(head)
		if !listed || rest != "" && rest != "." && rest != "|" || sumLine.MatchString(head) || len(head) > 120 {
			continue
		}
		if desc := description(head); desc != "" {
			v := a.value
			out = append(out, Line{Description: desc, Amount: &v})
		}
	}
	return out
}

var (
	listing = regexp.MustCompile(`(?:[:|\t]| {2,}|\.{3,}| - )[ \t]*$`)
	sumLine = regexp.MustCompile(`(?i)\b(?:sub-?[ ]?total|total|tax|vat|gst|mwst|ust|balance|due|paid|deposit|payable|amount|subtotal|net|gross|summe|betrag|discount|terms|budget|limit|order value|previous|currency|rechnungsbetrag|tva|montant)\b`)
)
