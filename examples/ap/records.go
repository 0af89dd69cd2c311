package ap

import (
	"strings"

	"usher/examples/ap/invoice"
)

// vendor is a record below w/vendor-records/.
type vendor struct {
	Name      string   `json:"name"`
	Aliases   []string `json:"aliases,omitempty"`
	Status    string   `json:"status"`    // ACTIVE or SUSPENDED
	Sanctions string   `json:"sanctions"` // CLEAR or FLAGGED
	Note      string   `json:"note,omitempty"`
}

// order is a record below w/purchase-orders/.
type order struct {
	ID       string        `json:"id"`
	Vendor   string        `json:"vendor"`
	Amount   invoice.Money `json:"amount"`
	Currency string        `json:"currency"`
	Manager  string        `json:"manager"`
	Status   string        `json:"status"` // OPEN or CLOSED
}

// enrichment is what is known about an invoice beside its text. A nil part is
// one that does not exist; what could not be looked up is a problem too.
type enrichment struct {
	RecordID string    `json:"recordId"` // of this invoice below w/invoices/, distinct for a repeated one
	Vendor   *vendor   `json:"vendor"`
	Order    *order    `json:"order"`
	Earlier  []earlier `json:"earlier"`
	Searched bool      `json:"searched"` // earlier invoices could be looked up
	Problems []string  `json:"problems"`
}

// earlier is an invoice of the same vendor and number that came before.
type earlier struct {
	RecordID string         `json:"recordId"`
	Total    *invoice.Money `json:"total"`
	Date     invoice.Text   `json:"date"`
}

// Decisions of the approver.
const (
	approved  = "APPROVED"
	escalated = "ESCALATED"
	rejected  = "REJECTED"
)

// decision is a record below w/decisions/.
type decision struct {
	Invoice       string        `json:"invoice"`
	Vendor        string        `json:"vendor"`
	Total         invoice.Money `json:"total"`
	Currency      invoice.Text  `json:"currency"`
	PurchaseOrder invoice.Text  `json:"purchaseOrder"`
	Decision      string        `json:"decision"`
	EscalateTo    invoice.Text  `json:"escalateTo"`
	Rules         []rule        `json:"rules"`
	Reason        string        `json:"reason"`
	Recorded      bool          `json:"recorded"`
	Record        string        `json:"record"` // path of the decision
}

// rule is how one rule of the policy came out.
type rule struct {
	Rule   string `json:"rule"`
	Passed bool   `json:"passed"`
	Detail string `json:"detail"`
}

// recordID names an invoice by its vendor and number, as one path segment.
// Spelling does not count: "GX-88" and "gx 88" of one vendor have one id.
func recordID(vendorName, number string) string {
	return strings.ReplaceAll(invoice.Fold(vendorName), " ", "-") + "_" + invoice.Squash(number)
}
