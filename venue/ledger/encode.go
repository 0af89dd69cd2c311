package ledger

import (
	"encoding/json"
	"strconv"
	"time"

	"usher/tools"
)

// Rows are written by hand, since each call writes two of them: the result is
// what encoding/json makes of a [Row], but that <, > and & stand as they are.

// appendStart begins a row; what follows is its own part.
func appendStart(b []byte, seq uint64, at time.Time) []byte {
	b = append(b, `{"seq":`...)
	b = strconv.AppendUint(b, seq, 10)
	b = append(b, `,"time":"`...)
	b = at.AppendFormat(b, time.RFC3339Nano)
	return append(b, '"')
}

// appendDecision is the part of a decision, up to the closing brace.
func appendDecision(b []byte, e *tools.Entry) []byte {
	b = appendText(b, "owner", e.Owner)
	if e.Actor != "" {
		b = appendText(b, "actor", e.Actor)
	}
	b = appendTexts(b, "via", e.Via)
	b = appendText(b, "operation", e.Operation)
	b = append(b, `,"needs":`...)
	b = appendNeeds(b, e.Needs)
	if e.Omitted != 0 {
		b = append(b, `,"needsOmitted":`...)
		b = strconv.AppendInt(b, int64(e.Omitted), 10)
	}
	b = appendText(b, "verdict", e.Verdict)
	for _, field := range [...]struct{ name, value string }{
		{"reason", e.Reason}, {"boundedBy", e.BoundedBy}, {"inputHmac", e.Digest},
	} {
		if field.value != "" {
			b = appendText(b, field.name, field.value)
		}
	}
	if e.Effects {
		b = append(b, `,"effects":true`...)
	}
	if e.Job != "" {
		b = appendText(b, "job", e.Job)
	}
	if e.Session != "" {
		b = appendText(b, "session", e.Session)
	}
	if e.Schedule != "" {
		b = appendText(b, "schedule", e.Schedule)
	}
	if e.Approval != "" {
		b = appendText(b, "approval", e.Approval)
	}
	return append(b, '}')
}

// appendOutcome is the part of an outcome, up to the closing brace.
func appendOutcome(b []byte, of uint64, outcome, failure string) []byte {
	b = append(b, `,"of":`...)
	b = strconv.AppendUint(b, of, 10)
	b = appendText(b, "outcome", outcome)
	if failure != "" {
		b = appendText(b, "error", failure)
	}
	return append(b, '}')
}

// appendNote is the part of a note, up to the closing brace.
func appendNote(b []byte, note string, detail json.RawMessage) []byte {
	b = appendText(b, "note", note)
	b = append(append(b, `,"detail":`...), detail...)
	return append(b, '}')
}

func appendNeeds(b []byte, needs []tools.Requirement) []byte {
	if needs == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i, n := range needs {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"ability":`...)
		b = appendString(b, n.Ability)
		b = appendText(b, "resource", n.Resource)
		if n.By != "" {
			b = appendText(b, "by", n.By)
		}
		if n.Unmet {
			b = append(b, `,"unmet":true`...)
		}
		b = appendTexts(b, "proofs", n.Proofs)
		b = append(b, '}')
	}
	return append(b, ']')
}

// appendText adds a member to an object that has one already.
func appendText(b []byte, name, value string) []byte {
	b = append(b, ',', '"')
	b = append(b, name...)
	b = append(b, '"', ':')
	return appendString(b, value)
}

func appendTexts(b []byte, name string, values []string) []byte {
	if len(values) == 0 {
		return b
	}
	b = append(b, ',', '"')
	b = append(b, name...)
	b = append(b, `":[`...)
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, v)
	}
	return append(b, ']')
}

func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(s) // a string always has a form
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
