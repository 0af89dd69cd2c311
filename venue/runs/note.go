package runs

import (
	"cmp"
	"context"

	"usher/caps/value"
	"usher/runtime"
	"usher/tools/fault"
	"usher/venue/ledger"
)

// note is a row of the ledger on what the log of a session has, and no decision.
type note struct {
	text   string
	detail any
}

// write writes a note to the ledger, with the batch that has what it is of in the log.
func (b *Book) write(ctx context.Context, n *note, with ledger.Batch) error {
	_, err := b.opts.Ledger.Note(ctx, n.text, n.detail, with)
	if _, moved := ledger.StaleKey(err); moved {
		err = fault.New(fault.Busy, "the log has changed meanwhile: look at the run again")
	}
	return err
}

// outcomeNote is what a person said of a call.
func outcomeNote(session string, said *runtime.OutcomeNote) *note {
	return &note{ledger.NoteOutcome, struct {
		By        string `json:"by"`
		Outcome   string `json:"outcome"`
		Run       string `json:"run"`
		Session   string `json:"session,omitempty"`
		Call      string `json:"call"`
		Operation string `json:"operation"`
		Note      string `json:"note,omitempty"`
	}{said.By, said.Outcome, said.Run, session, said.CallID, cmp.Or(said.Operation, said.Name), said.Note}}
}

// Bounds of what a note says of calls.
const (
	maxAsked  = 64
	maxCallID = 128 // bytes
)

// asksNote is that whoever talks was asked to make calls, which the gate does not decide on.
func asksNote(r *Run, session string, calls []runtime.ClientCall) *note {
	rec := r.Record()
	detail := struct {
		Owner   string               `json:"owner"`
		Agent   string               `json:"agent"`
		Caller  string               `json:"caller,omitempty"`
		Run     string               `json:"run"`
		Session string               `json:"session"`
		Calls   []runtime.ClientCall `json:"calls"`
		Omitted int                  `json:"callsOmitted,omitempty"`
	}{r.owner.String(), rec.Agent, rec.Caller, rec.ID, session, nil, max(0, len(calls)-maxAsked)}
	for _, c := range calls[:min(len(calls), maxAsked)] {
		c.CallID = value.Cut(c.CallID, maxCallID)
		detail.Calls = append(detail.Calls, c)
	}
	return &note{ledger.NoteAsked, detail}
}
