// Package invoice reads invoices out of plain text: letters, e-mails, lists of
// labels and values, tables, and what a text recognition makes of paper.
// [Read] is the one to call.
//
// It reads what is there and invents nothing: a part that the text does not
// state is null. A text that names no vendor, no invoice number or no total is
// no invoice, which [NotInvoiceError] says.
package invoice

import (
	"strings"
)

// Invoice is what a text says about a bill. Empty strings and nil amounts are
// parts that it does not state; in JSON they are null.
type Invoice struct {
	Vendor        string
	Number        string
	Date          string // YYYY-MM-DD
	Currency      string // ISO 4217
	Lines         []Line
	Subtotal      *Money
	Tax           *Money
	Total         Money // what is asked to be paid
	Terms         string
	PurchaseOrder string
}

// Line is one position of an invoice.
type Line struct {
	Description string `json:"description"`
	Quantity    *Money `json:"quantity"`
	UnitPrice   *Money `json:"unitPrice"`
	Amount      *Money `json:"amount"`
}

// NotInvoiceError names what a text lacks to be an invoice.
type NotInvoiceError struct{ Missing []string }

func (e *NotInvoiceError) Error() string {
	list := e.Missing[0]
	if n := len(e.Missing); n > 1 {
		list = strings.Join(e.Missing[:n-1], ", ") + " and " + e.Missing[n-1]
	}
	return "this is not an invoice that can be processed: " + list +
		" could not be found in the text; an invoice names its vendor, its number and its total"
}

// Read reads the invoice in text. The error is a [*NotInvoiceError].
func Read(text string) (*Invoice, error) {
	d := newDocument(text)
	inv := &Invoice{
		Number:        d.number(),
		PurchaseOrder: d.order,
		Date:          d.invoiceDate(),
		Terms:         d.terms(),
		Vendor:        d.vendor(),
		Lines:         d.lineItems(),
	}
	sums := d.sums()
	inv.Subtotal, inv.Tax = sums.subtotal, sums.tax
	var missing []string
	if inv.Vendor == "" {
		missing = append(missing, "a vendor")
	}
	if inv.Number == "" {
		missing = append(missing, "an invoice number")
	}
	if sums.total == nil || *sums.total <= 0 {
		missing = append(missing, "a total")
	} else {
		inv.Total = *sums.total
	}
	if missing != nil {
		return nil, &NotInvoiceError{missing}
	}
	inv.Currency = d.currency(sums)
	return inv, nil
}
