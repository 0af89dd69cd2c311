package ledger

import (
	"encoding/json"
	"strconv"
	"time"

	"usher/caps/value"
	"usher/tools"
)

// Rows are written by hand, since each call writes two of them: the result is
// what encoding/json makes of a [Row], but that <, > and & stand as they are.

// appendRow writes a row: its number and its time, and the members of its body.
func appendRow(b []byte, seq uint64, at time.Time, body []byte) []byte {
	b = strconv.AppendUint(append(b, `{"seq":`...), seq, 10)
	b = at.AppendFormat(append(b, `,"time":"`...), time.RFC3339Nano)
	return append(append(b, `",`...), body[1:]...)
}

// maxStart is the longest that stands before the members of a body.
const maxStart = 80

// appendDecision writes the body of a decision.
func appendDecision(b []byte, e *tools.Entry) []byte {
	w := value.NewWriter()
	w.Text("owner", e.Owner)
	w.Some("actor", e.Actor)
	w.Texts("via", e.Via)
	w.Texts("wrote", e.Wrote)
	w.Text("operation", e.Operation)
	if e.Needs == nil {
		w.Raw("needs", []byte("null"))
	} else if len(e.Needs) == 0 {
		w.Raw("needs", []byte("[]"))
	}
	w.List("needs", len(e.Needs), func(i int) {
		n := &e.Needs[i]
		w.Text("ability", n.Ability)
		w.Text("resource", n.Resource)
		w.Some("by", n.By)
		w.Mark("asked", n.Asked)
		w.Mark("unmet", n.Unmet)
		w.Texts("proofs", n.Proofs)
	})
	w.Count("needsOmitted", int64(e.Omitted))
	w.Text("verdict", e.Verdict)
	w.Some("reason", e.Reason)
	w.Some("boundedBy", e.BoundedBy)
	w.Some("inputHmac", e.Digest)
	w.Mark("effects", e.Effects)
	w.Some("job", e.Job)
	w.Some("session", e.Session)
	w.Some("schedule", e.Schedule)
	w.Some("approval", e.Approval)
	return w.AppendTo(b)
}

// appendOutcome writes the body of an outcome.
func appendOutcome(b []byte, of uint64, outcome, failure string) []byte {
	w := value.NewWriter()
	w.Int("of", int64(of))
	w.Text("outcome", outcome)
	w.Some("error", failure)
	return w.AppendTo(b)
}

// appendNote writes the body of a note.
func appendNote(b []byte, note string, detail json.RawMessage) []byte {
	w := value.NewWriter()
	w.Text("note", note)
	w.Raw("detail", detail)
	return w.AppendTo(b)
}
