package invoice

import (
	"regexp"
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
	d.dates = findDates(d.text)
	spans := make([][]int, len(d.dates))
	for i, at := range d.dates {
		spans[i] = []int{at.start, at.end}
	}
	d.masked = mask(d.text, spans)
	d.masked = mask(d.masked, contacts.FindAllStringIndex(d.masked, -1))
	d.flat = joined.ReplaceAllString(d.masked, "$1 $2")
	d.fields = findFields(d.text)
	d.style = styleOf(d.masked)
	d.order = d.findOrder()
	d.parties = findZones(d.text)
	d.amounts = d.style.amounts(mask(d.masked, references.FindAllStringIndex(d.masked, -1)))
	return d
}

var joined = regexp.MustCompile(`([^\n])\n([^\n])`)

// references are numbers that are no money however they look.
var references = regexp.MustCompile(`(?i)\b(?:invoice|inv|rechnung|facture|factura|bill|order|p\.?o\.?|reference|ref|page|nummer|number|no|nr|#)\.?[ \t]*(?:number|nummer|no\b|nr\b|ref\b|#|id\b)?\.?[ \t]*[:#]?[ \t]*#?[a-z]{0,5}[-/]?\d[\w/-]*[\w]|\bpage \d+(?: of \d+)?`)

// mask returns s with the spans masked, line ends kept.
func mask(s string, spans [][]int) string {
	out := []byte(s)
	for _, at := range spans {
		for i := at[0]; i < at[1]; i++ {
			if out[i] != '\n' {
				out[i] = masked
			}
		}
	}
	return string(out)
}
