package ap

import (
	"strings"
	"unicode"
)

// squash is an identifier as it is compared: its letters and digits, in lower
// case.
func squash(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

const legalForms = " ab ag aps as bv co company corp corporation gmbh inc incorporated kg limited llc llp ltd nv oy plc sa sarl spa srl "

// fold is a name as it is compared: lower case, without punctuation and without
// its legal form. "ACME, Corp." and "Acme" fold to the same.
func fold(name string) string {
	words := strings.FieldsFunc(strings.ToLower(strings.ReplaceAll(name, ".", "")), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	for len(words) > 1 && strings.Contains(legalForms, " "+words[len(words)-1]+" ") {
		words = words[:len(words)-1]
	}
	return strings.Join(words, " ")
}

// sameOrder compares order numbers as people write them: "PO-4471" and "po 4471"
// and "4471" are one.
func sameOrder(a, b string) bool {
	a, b = squash(a), squash(b)
	return a == b || a == "po"+b || b == "po"+a
}

// recordID names an invoice by its vendor and number, as one path segment.
// Spelling does not count: "GX-88" and "gx 88" of one vendor have one id.
func recordID(vendor, number string) string {
	return strings.ReplaceAll(fold(vendor), " ", "-") + "_" + squash(number)
}
