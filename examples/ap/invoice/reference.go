package invoice

import (
	"regexp"
	"strings"
)

const (
	numberWords = `(?:number|numero|número|nummer|numéro|num\b\.?|nos?\b\.?|nr\b\.?|n°|nº|#|id\b|code\b|ref(?:erence|\.?)?\b\.?)`
	linkWords   = `[ \t]*(?:\bis\b|\bwas\b|[:#.=(]|[ \t]-[ \t])*[ \t]*(?:#[ \t]*)?\n?[ \t]*`
	identifier  = `((?-i:[A-Z]{1,5} )?[\p{L}\d][\p{L}\d/_.-]*)`
	bill        = `(?:invoice|inv|bill|rechnungs?|facture|factura|fattura|factuur|faktura|fakturanummer)`
)

var (
	numberLabel = regexp.MustCompile(`(?i)^(?:tax |vat |commercial |sales |our )?` + bill + `\.?(?:[ -]*` + numberWords + `)*$|^(?:document|doc\.?|bill|statement)[ -]` + numberWords + `$`)
	refLabel    = regexp.MustCompile(`(?i)^(?:our |invoice )?(?:ref(?:erence)?\.?|nummer|number|no\.?|nr\.?)(?: (?:no\.?|number))?$`)
	numbered    = regexp.MustCompile(`(?i)\b` + bill + `\.?(?:[ \t_-]*` + numberWords + `)+` + linkWords + identifier)
	bare        = regexp.MustCompile(`(?i)\b` + bill + `\b[ \t]*(?:(?:is|was)[ \t]+)?[:#(-]*[ \t]*\n?[ \t]*` + identifier)
	ourRef      = regexp.MustCompile(`(?i)\b(?:our ref(?:erence)?|document (?:no|number)|doc\.? no)\.?` + linkWords + identifier)
	standalone  = regexp.MustCompile(`\b((?:INV|Inv|inv|RE|RG|FAC|FA)[-/]?[A-Z]{0,4}[-/]?\d[\w/-]*)`)

	anyNumber   = regexp.MustCompile(`(?i)(\S*)[ \t(,]*(?:\b(?:numbered|number|no\.|nr\.)|#)[ \t]*(?:is|:|#)?[ \t]*` + identifier)
	otherNumber = regexp.MustCompile(`(?i)^\(?(?:order|orders|p\.?o\.?|phone|tel|account|part|model|serial|job|project|contract|quote|quotation|reg|registration|vat|tax|customer|client|delivery|tracking)\.?$`)

	orderWords  = `(?:purchase[ -]?order|p\. ?o\b\.?|\bpo\b\.?|(?:customer|client|buyer(?:'s)?|your|auftrag|purchase)[ -]order|order|bestellung|bestell-?(?:nummer|nr\.?)?|(?:bon de )?commande|orden de compra|pedido|inkooporder)`
	orderLabel  = regexp.MustCompile(`(?i)^(?:your |customer |client |buyer(?:'s)? |related |against )?` + orderWords + `(?:[ -]*` + numberWords + `)*$|^your ref(?:erence)?\.?$`)
	orderToken  = regexp.MustCompile(`(?i)(?:^|[^\w/-])(P\.?O\.?(?:[-_/]| - )?[A-Z]{0,3}[-_/]?\d[\w/-]*|BO-\d[\w/-]*)`)
	orderMarked = regexp.MustCompile(`(?i)(\S*[ \t]?)\b(?:purchase[ -]?orders?|p\. ?o\b\.?|po\b\.?|(?:customer|client|buyer(?:'s)?|your)[ -]order|bestellung|bestell-?(?:nummer|nr\.?)|bon de commande|commande|orden de compra|pedido|inkooporder)(?:[ \t-]*` + numberWords + `)*` + linkWords + identifier)
	orderLoose  = regexp.MustCompile(`(?i)(\S*[ \t]?)\border(?:[ \t-]*` + numberWords + `)*` + linkWords + identifier)
	notYours    = regexp.MustCompile(`(?i)^(?:sales|work|our|delivery|change|standing|last|previous|in)[ \t]$`)
)

// number is the invoice's own number.
func (d *document) number() string {
	if n := d.lookup(numberLabel, d.asIdentifier); n != "" {
		return n
	}
	for _, re := range []*regexp.Regexp{numbered, standalone, bare, ourRef} {
		for _, m := range re.FindAllStringSubmatch(d.masked, -1) {
			if n := d.asIdentifier(m[1]); n != "" && n != d.order {
				return n
			}
		}
	}
	if !invoiceWord.MatchString(d.text) {
		return ""
	}
	if n := d.lookup(refLabel, d.asIdentifier); n != "" {
		return n
	}
	for _, m := range anyNumber.FindAllStringSubmatch(d.masked, -1) {
		if n := d.asIdentifier(m[2]); n != "" && n != d.order && !otherNumber.MatchString(m[1]) {
			return n
		}
	}
	return ""
}

var invoiceWord = regexp.MustCompile(`(?i)\b` + bill + `\b|rechnung`)

// asIdentifier is the identifier at the beginning of s: it has a digit, and is
// neither a date nor money.
func (d *document) asIdentifier(s string) string {
	s = strings.Trim(strings.TrimSpace(s), `#"'()[] `)
	if dates := findDates(s); len(dates) > 0 && dates[0].start == 0 {
		return ""
	}
	m := wholly.FindString(s)
	if m == "" {
		m = leading.FindString(s)
	}
	m = strings.TrimRight(m, "-/.:_")
	if !strings.ContainsAny(m, "0123456789") || moneyForm.MatchString(m) || ordinal.MatchString(m) {
		return ""
	}
	return joiner.ReplaceAllString(m, "$1")
}

var (
	wholly    = regexp.MustCompile(`(?i)^[a-z]{1,6}(?:[ /-]\d+)+$`)
	joiner    = regexp.MustCompile(` ?([/-]) ?`)
	leading   = regexp.MustCompile(`^(?:[A-Z]{1,5}[ ]\d[\w/-]*(?: \d{3,}\b)?|[\p{L}\d](?:[\p{L}\d/_.-]|[ ]?[/-][ ]?[\p{L}\d])*)`)
	moneyForm = regexp.MustCompile(`^\d+\.\d{2}$`)
	ordinal   = regexp.MustCompile(`(?i)^\d+(?:st|nd|rd|th|%)$`)
)

// findOrder is the customer's purchase order that the invoice refers to.
func (d *document) findOrder() string {
	if o := d.lookup(orderLabel, d.asOrder); o != "" {
		return o
	}
	for _, m := range orderToken.FindAllStringSubmatch(d.masked, -1) {
		return joiner.ReplaceAllString(strings.TrimRight(m[1], "-/_."), "$1")
	}
	for _, re := range []*regexp.Regexp{orderMarked, orderLoose} {
		for _, m := range re.FindAllStringSubmatch(d.masked, -1) {
			if notYours.MatchString(m[1]) {
				continue
			}
			if o := d.asOrder(m[2]); o != "" {
				return o
			}
		}
	}
	return ""
}

func (d *document) asOrder(s string) string {
	s = strings.TrimSpace(s)
	if m := orderToken.FindStringSubmatchIndex(s); m != nil && m[2] == 0 {
		return joiner.ReplaceAllString(strings.TrimRight(s[:m[3]], "-/_."), "$1")
	}
	return d.asIdentifier(s)
}
