package invoice

import (
	"regexp"
	"strings"
)

const (
	isoCodes = `USD|EUR|GBP|CHF|JPY|CAD|AUD|NZD|SEK|NOK|DKK|ISK|PLN|CZK|HUF|RON|BGN|TRY|UAH|ILS|INR|CNY|RMB|SGD|HKD|TWD|KRW|THB|MYR|IDR|PHP|VND|ZAR|NGN|KES|EGP|MAD|AED|SAR|QAR|BRL|MXN|ARS|CLP|COP|PEN`

	currencyBefore = `(?:US|CA|AU|NZ|HK|C|A|S|R)?\$(?: ?(?:USD|CAD|AUD|NZD|SGD|HKD))?|[€£¥₹₩₽₺₪]|(?:\b|^)(?:` + isoCodes + `|euros?|Rs\.?|S?Fr\.|kr\.?)(?: ?[$€£¥])?`
	currencyAfter  = `[$€£¥₹₩₽₺₪]|(?:(?:US|U\.S\.|Canadian|Australian|Swiss) )?(?:` + isoCodes + `|euros?|dollars?|pounds?(?: sterling)?|francs?|yen|rupees?|kronor|kroner|zł|zloty|kč|kr|Fr)\b\.?|zł|kč`
)

var signs = map[string]string{
	"US$": "USD", "CA$": "CAD", "C$": "CAD", "AU$": "AUD", "A$": "AUD", "NZ$": "NZD", "HK$": "HKD", "S$": "SGD", "R$": "BRL",
	"€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₩": "KRW", "₽": "RUB", "₺": "TRY", "₪": "ILS",
	"EURO": "EUR", "EUROS": "EUR", "POUND": "GBP", "POUNDS": "GBP", "POUNDS STERLING": "GBP", "YEN": "JPY",
	"RS": "INR", "RUPEE": "INR", "RUPEES": "INR", "FR": "CHF", "SFR": "CHF", "SWISS FRANCS": "CHF", "SWISS FRANC": "CHF",
	"ZŁ": "PLN", "ZLOTY": "PLN", "KČ": "CZK", "RMB": "CNY", "US DOLLARS": "USD", "U.S. DOLLARS": "USD",
	"CANADIAN DOLLARS": "CAD", "AUSTRALIAN DOLLARS": "AUD",
}

var isoForm = regexp.MustCompile(`^(?:` + isoCodes + `|RUB)$`)

func isISO(code string) bool { return isoForm.MatchString(code) }

// isoCode is the ISO code of a currency as written; what several countries
// call theirs ("$", "dollars", "kr") stays as it is, in capitals.
func isoCode(written string) string {
	w := strings.ToUpper(strings.TrimRight(strings.TrimSpace(written), "."))
	if code, ok := signs[w]; ok {
		return code
	}
	if len(w) > 3 { // "$ USD", "EUR €"
		for _, part := range strings.FieldsFunc(w, func(r rune) bool { return r == ' ' || r == '$' || r == '€' }) {
			if isISO(part) && part != "RMB" {
				return part
			}
		}
	}
	return w
}

var (
	statedCurrency = regexp.MustCompile(`(?i)\b(?:currency|währung|devise|moneda|valuta)\s*(?:is|:|of invoice:?|\|)?\s*\(?(` + isoCodes + `)\b|\b(?:in|prices? in|amounts? in|(?:total|price|amount|due|balance)[^\n|:]{0,20}\()\s*(` + isoCodes + `)\b`)
	sharedSigns    = map[string]*regexp.Regexp{
		"$":  regexp.MustCompile(`\b(?:USD|CAD|AUD|NZD|SGD|HKD)\b`),
		"KR": regexp.MustCompile(`\b(?:SEK|NOK|DKK|ISK)\b`),
	}
	anyCode = regexp.MustCompile(`\b(?:` + isoCodes + `)\b`)
)

// currency is the one that the total is in, else the one that the text names.
func (d *document) currency(s sums) string {
	cur := s.currency
	if cur != "" && isISO(cur) {
		return cur
	}
	if m := statedCurrency.FindStringSubmatch(d.text); m != nil {
		return isoCode(m[1] + m[2])
	}
	if cur == "" {
		for _, a := range d.amounts {
			if a.currency != "" {
				cur = a.currency
				break
			}
		}
	}
	if isISO(cur) {
		return cur
	}
	if local := sharedSigns[cur]; local != nil {
		if code := local.FindString(d.text); code != "" {
			return code
		}
	}
	switch cur {
	case "$", "DOLLAR", "DOLLARS":
		return "USD"
	case "":
		if code := anyCode.FindString(d.masked); code != "" {
			return code
		}
	}
	return ""
}
