package invoice

import (
	"regexp"
	"strings"
)

const (
	legalForm = `(?:(?:Pty|Pte|Pvt)\.? (?:Ltd|Limited)|GmbH(?: ?& ?Co\.? ?KGa?A?)?|(?:Co\.?,? )?(?:Ltd|Limited)|Inc|Incorporated|Corp|Corporation|Company|Co|LLC|L\.L\.C|LLP|LP|PLC|plc|mbH|AG|KG|OHG|UG(?: \(haftungsbeschränkt\))?|e\.K|SE|S\.A\.S|S\.A\.R\.L|S\.A|SAS|SARL|Sàrl|SA|S\.r\.l|SRL|S\.p\.A|SpA|B\.V|BV|N\.V|NV|Oyj?|AB|A/S|ApS|AS|Kft|Zrt|s\.r\.o|a\.s|Sp\. z o\.? ?o|S\.L|SL|Lda|K\.K|KK)`
	nameWord  = `[\p{Lu}\d][\p{L}\d'.&+/-]*`
)

var (
	legalEnd  = regexp.MustCompile(`(?i)(?:^|[ ,])` + legalForm + `\.?$`)
	legalHead = regexp.MustCompile(`(?i)^,? ?` + legalForm + `\b\.?`)
	legalName = regexp.MustCompile(`(` + nameWord + `(?:[ ](?:&|and|of|the|de|du|des|la|le|der|und|et|y|e|van|von|` + nameWord + `)){0,6}?,?[ ]` + legalForm + `)(?:\.|\b)`)

	customerLabel = regexp.MustCompile(`(?i)^(?:bill(?:ed|ing)?[ -]?to|sold to|ship(?:ped|ping)?[ -]?(?:to|address)|deliver(?:ed|y)?[ -]?(?:to|address)|invoiced? to|billing address|customer(?: name)?|client(?: name)?|buyer|purchaser|to|cc|attn\.?|attention|recipient|for|rechnung an|rechnungsempfänger|kunde|empfänger|an|facturé à|adressé à|destinataire|client|cliente|facturar a|klant|aan|bill-to)$`)
	customerHead  = regexp.MustCompile(`(?i)^(?:bill(?:ed|ing)?[ -]?to|sold to|ship(?:ped|ping)? to|deliver(?:ed|y)? to|invoiced? to|billing address|customer|client|buyer|purchaser|to|attn\.?|attention|recipient|facturé à|rechnung an|kunde)[ \t]*(?::|-|$)[ \t]*(.*)$`)
	customerProse = regexp.MustCompile(`(?i)\b(?:bill(?:ed)?|invoiced?|sold|shipped|issued|addressed|sent|delivered|supplied|provided|rendered|submitted|charged?)[ \n]to[ ](?:the |our customer |our client |messrs\.? )?(?-i:(` + nameWord + `(?:[ ](?:&|and|of|` + nameWord + `)){0,5}(?:,? ` + legalForm + `)?))`)
	addressed     = regexp.MustCompile(`(?:\b(?i:attention of|attn:?|dear|hello|hi)|\bfrom [^.\n]{2,60}? to)[ ](` + nameWord + `(?:[ ](?:&|and|of|` + nameWord + `)){0,5}(?:,? ` + legalForm + `)?)`)
)

// zones says which part of a text speaks of the customer.
type zones struct {
	lines map[int]bool // by line number
	names []string     // folded
}

// findZones finds the customer: a bill-to block, a recipient, or a name that
// prose says the bill goes to.
func findZones(s string) zones {
	z := zones{lines: make(map[int]bool)}
	lines := strings.Split(s, "\n")
	for i := 0; i < len(lines); i++ {
		row := cells(lines[i])
		if len(row) > 1 {
			for j, c := range row {
				z.column(lines, i, j, c)
			}
			continue
		}
		m := customerHead.FindStringSubmatch(strings.TrimSpace(lines[i]))
		if m == nil {
			continue
		}
		z.lines[i] = true
		if m[1] != "" {
			z.add(m[1])
		}
		for j := i + 1; j < len(lines) && j <= i+6; j++ {
			l := strings.TrimSpace(lines[j])
			if l == "" && (m[1] != "" || j > i+1) || labelled.MatchString(l) || titleLine.MatchString(l) {
				break
			}
			z.lines[j] = true
			if m[1] == "" && (j == i+1 || legalEnd.MatchString(l)) {
				z.add(l)
			}
		}
	}
	for _, re := range []*regexp.Regexp{customerProse, addressed} {
		for _, m := range re.FindAllStringSubmatch(s, -1) {
			z.add(m[1])
		}
	}
	return z
}

// column notes the customer of a layout in columns: the name stands below its
// heading or beside it.
func (z *zones) column(lines []string, i, j int, c string) {
	m := labelled.FindStringSubmatch(c)
	label, value := strings.TrimSuffix(c, ":"), ""
	if m != nil {
		label, value = m[1], m[2]
	}
	if !customerLabel.MatchString(strings.TrimSpace(label)) {
		return
	}
	row := cells(lines[i])
	switch {
	case value != "":
		z.add(value)
	case len(row) == 2 && j == 0 && !customerLabel.MatchString(row[1]) && !vendorLabel.MatchString(strings.ToLower(strings.TrimSuffix(row[1], ":"))):
		z.add(row[1])
	default:
		if below := cells(nextLine(lines, i)); j < len(below) {
			z.add(below[j])
		}
	}
}

func (z *zones) add(name string) {
	name, _, _ = strings.Cut(name, "  ")
	if f := Fold(cleanName(name)); f != "" {
		z.names = append(z.names, f)
	}
}

// has reports whether the name is the customer's.
func (z *zones) has(name string) bool {
	f := Fold(name)
	for _, n := range z.names {
		if f == n || len(n) > 3 && strings.HasPrefix(n, f+" ") || len(f) > 3 && strings.HasPrefix(f, n+" ") {
			return true
		}
	}
	return false
}

var legalTail = regexp.MustCompile(`(?i)(?:^|[ ,]+)` + legalForm + `\.?$`)

// Fold is a name as it is compared: lower case, without punctuation and
// without its legal form. "ACME, Corp." and "Acme" fold to the same.
func Fold(name string) string {
	name = strings.TrimRight(strings.TrimSpace(name), " .,;:")
	for {
		short := strings.TrimRight(legalTail.ReplaceAllString(name, ""), " .,;:&")
		if short == "" || short == name {
			break
		}
		name = short
	}
	return strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return !isLetterOrDigit(r)
	}), " ")
}
