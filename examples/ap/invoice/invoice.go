// Package invoice reads invoices: a JSON object, or text with "Label: value" on
// its lines. [Read] is the one to call.
//
// It reads what is there and invents nothing: a part that is not stated is null
// in JSON. What names no vendor, no invoice number or no total is no invoice.
package invoice

import (
	"encoding/json"
	"strings"
	"unicode"
)

// Invoice is what a bill says.
type Invoice struct {
	Vendor        string `json:"vendor"`
	Number        string `json:"invoiceNumber"`
	Date          Text   `json:"date"`     // YYYY-MM-DD
	Currency      Text   `json:"currency"` // ISO 4217
	Lines         []Line `json:"lines"`
	Subtotal      *Money `json:"subtotal"`
	Tax           *Money `json:"tax"`
	Total         Money  `json:"total"` // what is asked to be paid
	Terms         Text   `json:"terms"`
	PurchaseOrder Text   `json:"purchaseOrder"`
}

// Line is one position of an invoice.
type Line struct {
	Description string `json:"description"`
	Quantity    *Money `json:"quantity"`
	UnitPrice   *Money `json:"unitPrice"`
	Amount      *Money `json:"amount"`
}

// Text is null in JSON where it is empty.
type Text string

// MarshalJSON writes a string or null.
func (t Text) MarshalJSON() ([]byte, error) {
	if t == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(t))
}

// Squash is an identifier as it is compared: its letters and digits, in lower
// case.
func Squash(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

const legalForms = " ab ag aps as bv co company corp corporation gmbh inc incorporated kg limited llc llp ltd nv oy plc sa sarl spa srl "

// Fold is a name as it is compared: lower case, without punctuation and without
// its legal form. "ACME, Corp." and "Acme" fold to the same.
func Fold(name string) string {
	words := strings.FieldsFunc(strings.ToLower(strings.ReplaceAll(name, ".", "")), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	for len(words) > 1 && strings.Contains(legalForms, " "+words[len(words)-1]+" ") {
		words = words[:len(words)-1]
	}
	return strings.Join(words, " ")
}
