package invoice

import "encoding/json"

type invoiceJSON struct {
	Vendor        *string `json:"vendor"`
	Number        *string `json:"invoiceNumber"`
	Date          *string `json:"date"`
	Currency      *string `json:"currency"`
	Lines         []Line  `json:"lines"`
	Subtotal      *Money  `json:"subtotal"`
	Tax           *Money  `json:"tax"`
	Total         Money   `json:"total"`
	Terms         *string `json:"terms"`
	PurchaseOrder *string `json:"purchaseOrder"`
}

// MarshalJSON writes absent parts as null.
func (i Invoice) MarshalJSON() ([]byte, error) {
	lines := i.Lines
	if lines == nil {
		lines = []Line{}
	}
	return json.Marshal(invoiceJSON{
		stated(i.Vendor), stated(i.Number), stated(i.Date), stated(i.Currency), lines,
		i.Subtotal, i.Tax, i.Total, stated(i.Terms), stated(i.PurchaseOrder),
	})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (i *Invoice) UnmarshalJSON(data []byte) error {
	var in invoiceJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*i = Invoice{
		text(in.Vendor), text(in.Number), text(in.Date), text(in.Currency), in.Lines,
		in.Subtotal, in.Tax, in.Total, text(in.Terms), text(in.PurchaseOrder),
	}
	return nil
}

func stated(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
