package ap

import (
	"encoding/json"
	"errors"

	"usher/examples/ap/invoice"
)

// scanned is what the scanner answers: the invoice, or why there is none.
type scanned struct {
	Invoice *invoice.Invoice `json:"invoice,omitempty"`
	Refusal string           `json:"refusal,omitempty"`
	Missing []string         `json:"missing,omitempty"`
}

// scan is the scanner: it reads the text that it is given.
func scan(t *turn) any {
	text := t.task
	var task struct {
		Text *string `json:"text"`
	}
	if json.Unmarshal([]byte(t.task), &task) == nil && task.Text != nil {
		text = *task.Text
	}
	inv, err := invoice.Read(text)
	if err == nil {
		return scanned{Invoice: inv}
	}
	out := scanned{Refusal: err.Error()}
	if no, ok := errors.AsType[*invoice.RefusedError](err); ok {
		out.Missing = no.Missing
	}
	return out
}
