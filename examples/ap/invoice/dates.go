package invoice

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// date is a calendar date in the text.
type date struct {
	start, end int
	iso        string
}

const monthNames = `jan(?:uary|uar|vier)?|feb(?:ruary|ruar)?|f[ée]vr(?:ier)?|mar(?:ch|s|zo)?|märz|mrz|apr(?:il)?|avr(?:il)?|may|mai|mayo|june?|juni|juin|junio|july?|juli|juillet|julio|aug(?:ust)?|août|agosto|sept?(?:ember|embre|iembre)?|o[ck]t(?:ober|obre|ubre)?|nov(?:ember|embre|iembre)?|de[cz](?:ember|embre|iembre)?|d[ée]c(?:embre)?|ene(?:ro)?|febrero|abr(?:il)?|dic(?:iembre)?|maart|mei|augustus`

var (
	yearFirst  = regexp.MustCompile(`\b(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})\b`)
	numeric    = regexp.MustCompile(`\b(\d{1,2})( ?[./-] ?)(\d{1,2})( ?[./-] ?)(\d{4}|\d{2})\b`)
	dayMonth   = regexp.MustCompile(`(?i)\b(\d{1,2})(?:st|nd|rd|th|er)?\.?(?:\s+(?:of|de|day of))?[\s-]+(` + monthNames + `)\b\.?,?(?:\s+(?:of|de))?[\s-]+(\d{4}|'?\d{2})\b`)
	monthDay   = regexp.MustCompile(`(?i)\b(` + monthNames + `)\.?[\s-]+(\d{1,2})(?:st|nd|rd|th)?,?[\s-]+(\d{4})\b`)
	yearMonth  = regexp.MustCompile(`(?i)\b(\d{4})[\s-](` + monthNames + `)[\s-](\d{1,2})\b`)
	monthKeys  = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	monthsElse = map[string]int{"mär": 3, "mrz": 3, "maa": 3, "mei": 5, "mai": 5, "fév": 2, "fev": 2, "fvr": 2, "avr": 4, "abr": 4, "aoû": 8, "ago": 8, "okt": 10, "dez": 12, "déc": 12, "dic": 12, "ene": 1}
)

func month(name string) int {
	name = strings.ToLower(name)
	rs := []rune(name)
	key := string(rs[:min(3, len(rs))])
	if i := slices.Index(monthKeys, key); i >= 0 {
		if key == "jui" {
			return 0
		}
		return i + 1
	}
	if key == "jui" {
		if strings.HasPrefix(name, "juil") {
			return 7
		}
		return 6
	}
	return monthsElse[key]
}

// findDates finds the dates of a text, left to right.
func findDates(s string) []date {
	var out []date
	add := func(at []int, y, m, d string, mon int) {
		if at[0] > 1 && strings.ContainsRune("-/_.", rune(s[at[0]-1])) && alphanumeric(s[at[0]-2]) {
			return
		}
		if mon == 0 {
			mon, _ = strconv.Atoi(m)
		}
		iso, ok := calendar(y, mon, d)
		taken := slices.ContainsFunc(out, func(o date) bool { return at[0] < o.end && o.start < at[1] })
		if ok && !taken {
			out = append(out, date{at[0], at[1], iso})
		}
	}
	for _, at := range yearFirst.FindAllStringSubmatchIndex(s, -1) {
		add(at, s[at[2]:at[3]], s[at[4]:at[5]], s[at[6]:at[7]], 0)
	}
	for _, at := range dayMonth.FindAllStringSubmatchIndex(s, -1) {
		add(at, s[at[6]:at[7]], "", s[at[2]:at[3]], month(s[at[4]:at[5]]))
	}
	for _, at := range monthDay.FindAllStringSubmatchIndex(s, -1) {
		add(at, s[at[6]:at[7]], "", s[at[4]:at[5]], month(s[at[2]:at[3]]))
	}
	for _, at := range yearMonth.FindAllStringSubmatchIndex(s, -1) {
		add(at, s[at[2]:at[3]], "", s[at[6]:at[7]], month(s[at[4]:at[5]]))
	}
	all := numeric.FindAllStringSubmatchIndex(s, -1)
	monthFirst := monthComesFirst(s, all)
	for _, at := range all {
		a, sep, b, sep2 := s[at[2]:at[3]], strings.TrimSpace(s[at[4]:at[5]]), s[at[6]:at[7]], strings.TrimSpace(s[at[8]:at[9]])
		if sep != sep2 {
			continue
		}
		first, _ := strconv.Atoi(a)
		second, _ := strconv.Atoi(b)
		if second > 12 || first <= 12 && monthFirst && sep != "." {
			a, b = b, a
		}
		add(at, s[at[10]:at[11]], b, a, 0)
	}
	slices.SortFunc(out, func(a, b date) int { return a.start - b.start })
	return out
}

// monthComesFirst decides how 03/04/2026 is meant: as the unambiguous dates of
// the same text are written, else as the country of its currency writes it.
func monthComesFirst(s string, all [][]int) bool {
	for _, at := range all {
		first, _ := strconv.Atoi(s[at[2]:at[3]])
		second, _ := strconv.Atoi(s[at[6]:at[7]])
		if first > 12 && second <= 12 {
			return false
		}
		if second > 12 && first <= 12 {
			return true
		}
	}
	return american.MatchString(s) && !elsewhere.MatchString(s)
}

var (
	american  = regexp.MustCompile(`\$|\bUSD\b|(?i:\bdollars?\b)`)
	elsewhere = regexp.MustCompile(`[€£]|\b(?:AUD|NZD|EUR|GBP|CHF|SGD|HKD)\b|(?:A|AU|NZ|S|HK)\$|\b(?:Pty|GST|ABN|VAT|IBAN)\b`)
)

func calendar(year string, m int, day string) (string, bool) {
	y, _ := strconv.Atoi(strings.TrimPrefix(year, "'"))
	if y < 100 {
		y += 2000
	}
	d, _ := strconv.Atoi(day)
	t := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	ok := y >= 1970 && y < 2100 && int(t.Month()) == m && t.Day() == d
	return t.Format(time.DateOnly), ok
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

var (
	issueLabel = regexp.MustCompile(`(?i)(?:issued|raised|invoiced|sent)\b.{0,80}\bon$|invoice[ _-]?date|date of (?:the )?(?:invoice|issue)|issue[ _-]?date|issued|dated|bill(?:ing)? date|tax (?:point|date)|rechnungsdatum|date d(?:e (?:la )?|')?(?:facture|émission)|fecha de (?:factura|emisión)|factuurdatum|invoice[^.\n]{0,40}\b(?:of|from)$|rechnung[^.\n]{0,40}\bvom$|facture[^.\n]{0,40}\bdu$`)
	plainLabel = regexp.MustCompile(`(?i)\b(?:date|datum|fecha|data)\b`)
	otherLabel = regexp.MustCompile(`(?i)\b(?:due|payable|pay(?:ment)?|paid|settle[d]?|deliver\w*|ship\w*|dispatch\w*|order(?:ed)?|p\.?o\.?|period|valid|expir\w+|services?|latest|fällig\w*|zahlbar|liefer\w*|leistung\w*|bestell\w*|échéance|vencimiento|week|contract|agreement)\b|\b(?:from|to|until|till|through|since|between|before|by|start|end)\b\W*$`)
)

// invoiceDate is the date that the invoice was issued on.
func (d *document) invoiceDate() string {
	best, found := 0, ""
	for i, at := range d.dates {
		from := max(0, at.start-70)
		if i > 0 {
			from = max(from, d.dates[i-1].end)
		}
		label := d.text[from:at.start]
		if f := fieldAt(d.fields, at.iso); f != "" && strings.TrimSpace(lastLine(label)) == "" {
			label = f
		} else if cut := strings.LastIndex(label, "\n"); cut >= 0 && strings.TrimSpace(label[cut:]) != "" {
			if wrapped := strings.TrimSpace(label[cut:]); len(wrapped) > 12 || strings.Contains(wrapped, ":") {
				label = label[cut:]
			}
		}
		label = lastSentence(label)
		label = lastCell(strings.TrimRight(label, " \t\n:|"))
		if rank := issueRank(label); rank > best {
			best, found = rank, at.iso
		}
	}
	for _, f := range d.fields {
		if best < 3 && issueLabel.MatchString(f.label) || best < 2 && f.made && plainLabel.MatchString(f.label) && !otherLabel.MatchString(f.label) {
			if in := findDates(f.value); len(in) > 0 {
				best, found = 3, in[0].iso
			}
		}
	}
	return found
}

func issueRank(label string) int {
	_, issue := lastMatch(issueLabel, label)
	other, _ := lastMatch(otherLabel, label)
	if other < len(label)-nearby {
		other = -1
	}
	switch {
	case rangeMark.MatchString(label):
		return 0
	case issue >= 0 && issue+8 > other:
		return 4
	case other >= 0:
		return 0
	case plainLabel.MatchString(label):
		return 2
	}
	return 1
}

// nearby is how far before a date a word still says what the date is, in bytes.
const nearby = 32

var rangeMark = regexp.MustCompile(`(?i)^[ \n]*(?:-|to|until|till|through|bis|au|and)[ \n]*$|\b\d{1,2}[ ]?(?:-|to|and)[ \n]*$`)

func lastMatch(re *regexp.Regexp, s string) (start, end int) {
	all := re.FindAllStringIndex(s, -1)
	if len(all) == 0 {
		return -1, -1
	}
	return all[len(all)-1][0], all[len(all)-1][1]
}

func lastLine(s string) string { return s[strings.LastIndex(s, "\n")+1:] }

func lastCell(s string) string {
	if at := cellBreak.FindAllStringIndex(s, -1); at != nil {
		return s[at[len(at)-1][1]:]
	}
	return s
}
