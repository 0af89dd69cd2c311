package invoice

import (
	"regexp"
	"strings"
)

// masked stands where a part of the text was recognised as something else, so
// that it is not read twice: the 2026 of a date is no amount.
const masked = '\x01'

// document is a text with what was recognised in it. All positions are bytes
// of text; masked has the same length.
type document struct {
	text    string
	masked  string
	flat    string // masked, with lines that go on joined by a space
	style   style
	fields  []field
	dates   []date
	order   string
	amounts []amount
	parties zones
}

var contacts = regexp.MustCompile(`(?i)\b(?:tel|phone|telephone|fax|mobile|iban|bic|swift|ein|abn|siret|(?:vat|tax|gst|company)[ -]?(?:id|reg|registration|no|number|nr)|ust-?id(?:nr)?|sort code|routing|account (?:no|number)|a/c|card)\b\.?[ \t]*(?:(?:no|nr|number|id)\b)?[.:#]*[ \t]*(?-i:[A-Z]{0,4}[\dA-Z() /+.-]{3,40})|\b\d{1,2}:\d{2}(?::\d{2})?\b|\S+@\S+\.\S+|(?:https?://|www\.)\S+|\+\d[\d ()-]{7,}|P\.? ?O\.? ?Box[ \t]*\d*`)

func newDocument(raw string) *document {
	d := &document{text: normalize(raw)}
	d.masked = d.text
	d.dates = findDates(d.text)
	for _, at := range d.dates {
		d.mask(at.start, at.end)
	}
	for _, at := range contacts.FindAllStringIndex(d.masked, -1) {
		d.mask(at[0], at[1])
	}
	d.fields = findFields(d.text)
	d.style = styleOf(d.masked)
	d.order = d.findOrder()
	d.parties = findZones(d.text)
	sums := d.masked
	for _, at := range references.FindAllStringIndex(sums, -1) {
		d.mask(at[0], at[1])
	}
	d.amounts = d.style.amounts(d.masked)
	d.masked = sums
	d.flat = joined.ReplaceAllString(d.masked, "$1 $2")
	return d
}

var joined = regexp.MustCompile(`([^\n])\n([^\n])`)

// references are numbers that are no money however they look.
var references = regexp.MustCompile(`(?i)\b(?:invoice|inv|rechnung|facture|factura|bill|order|p\.?o\.?|reference|ref|page|nummer|number|no|nr|#)\.?[ \t]*(?:number|nummer|no\b|nr\b|ref\b|#|id\b)?\.?[ \t]*[:#]?[ \t]*#?[a-z]{0,5}[-/]?\d[\w/-]*[\w]|\bpage \d+(?: of \d+)?`)

func (d *document) mask(start, end int) {
	var b strings.Builder
	b.Grow(len(d.masked))
	b.WriteString(d.masked[:start])
	for _, c := range []byte(d.masked[start:end]) {
		if c != '\n' {
			c = masked
		}
		b.WriteByte(c)
	}
	b.WriteString(d.masked[end:])
	d.masked = b.String()
}
