package ledger

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"usher/tools"
	"usher/tools/fault"
)

// ErrBroken says that the ledger is not what was written or signed: a row, a
// hash, the head or a checkpoint was changed or removed, or the whole of it was
// rolled back.
var ErrBroken = fault.New(fault.NoLedger, "the audit ledger does not hold")

// Row is one row: a decision of the gate, the outcome of a call that it let
// through, or what the venue notes of itself.
type Row struct {
	Seq  uint64    `json:"seq"` // 1 for the first; no number is left out
	Time time.Time `json:"time"`

	*tools.Entry        // of a decision
	Of           uint64 `json:"of,omitempty"`      // of an outcome: the decision's Seq
	Outcome      string `json:"outcome,omitempty"` // of an outcome: ok, failed, denied or unknown
	Error        string `json:"error,omitempty"`

	Note   string          `json:"note,omitempty"`   // of a note: what happened
	Detail json.RawMessage `json:"detail,omitempty"` // of a note: an object
}

// Outcomes of a [Row].
const (
	outcomeOK     = "ok"
	outcomeFailed = "failed"
	OutcomeDenied = "denied" // the handler found that the caller may not
	// The call is made again when what it waits for has ended.
	outcomeWaiting = "waiting"
	// OutcomeUnknown: nobody can tell whether it took effect.
	OutcomeUnknown = "unknown"
)

// NoteOutcome is the note of what a person said of a call whose effect is unknown: its
// detail has by (a DID), outcome (happened or failed), run, session, call, operation and
// note.
const NoteOutcome = "outcome said"

// NoteAsked is the note that whoever talks with an agent was asked to make calls of their own
// tools: its detail has owner, agent, caller, run, session, and of calls their callId and name.
const NoteAsked = "client asked"

// The keys of the store.
const (
	prefix     = "l/"
	headKey    = prefix + "head"
	rowPrefix  = prefix + "row/"
	signPrefix = prefix + "sign/"
)

// rowKey sorts as the sequence does.
func rowKey(seq uint64) string { return numberKey(rowPrefix, seq) }

func signKey(size uint64) string { return numberKey(signPrefix, size) }

func numberKey(prefix string, n uint64) string {
	var key [len(signPrefix) + 8]byte
	return string(binary.BigEndian.AppendUint64(append(key[:0], prefix...), n))
}

func seqOf(key string) (uint64, error) {
	if len(key) != len(rowPrefix)+8 {
		return 0, fmt.Errorf("%w: there is a record under the key %q", ErrBroken, key)
	}
	return binary.BigEndian.Uint64([]byte(key[len(rowPrefix):])), nil
}

// decodeRow reads the JSON of the row that stands at seq.
func decodeRow(seq uint64, raw []byte) (Row, error) {
	var row Row
	if err := json.Unmarshal(raw, &row); err != nil {
		return row, fmt.Errorf("%w: row %d cannot be read: %w", ErrBroken, seq, err)
	}
	if row.Seq != seq {
		return row, fmt.Errorf("%w: where row %d should stand is one that says %d", ErrBroken, seq, row.Seq)
	}
	return row, nil
}
