// Package audit has the operations by which a caller reads the audit ledger: audit:list,
// audit:prove and audit:checkpoint. [Operations] returns them over a [Service], which the
// venue has.
//
// They need audit/read on audit, and tell of the caller's own calls alone, with those of
// the caller's agents: a row of another principal is as one that is not there. The
// checkpoint says how many rows there are in all.
package audit

import (
	"context"
	"encoding/json"
	"fmt"

	"usher/caps"
	"usher/tools"
)

// Service reads the ledger of a venue for the caller.
type Service interface {
	List(ctx context.Context, call tools.Call, q Query) (Listing, error)
	// Prove returns the proof of a row that is the caller's.
	Prove(ctx context.Context, call tools.Call, in RowRef) (Proof, error)
	// Checkpoint returns a checkpoint: over all rows, or the newest where many are asked for.
	Checkpoint(ctx context.Context, call tools.Call, in Nothing) (Checkpoint, error)
}

// maxPage is the most rows that a page has.
const maxPage = 1000

// Query asks for a page of rows, the newest first.
type Query struct {
	Agent  string `json:"agent,omitempty" jsonschema:"only decisions on this agent's calls"`
	Denied bool   `json:"denied,omitempty" jsonschema:"only denials"`
	Limit  int    `json:"limit,omitempty" jsonschema:"the most rows to return: 1 to 1000, left out 100"`
	Cursor string `json:"cursor,omitempty" jsonschema:"where to go on: the cursor that the page before returned"`
}

// Listing is a page of rows. It may have none and still a cursor: others' rows were
// passed over.
type Listing struct {
	Rows   []json.RawMessage `json:"rows"`             // decisions, each with the outcome of the call where that is known
	Cursor string            `json:"cursor,omitempty"` // of the next page; empty when nothing follows
}

// RowRef names a row.
type RowRef struct {
	Row uint64 `json:"row" jsonschema:"the row's number, as audit:list has it (seq)"`
}

// Proof shows to whoever knows the venue's DID that a row is in the ledger.
type Proof struct {
	Row        string   `json:"row"`        // as it was hashed
	Index      uint64   `json:"index"`      // of the leaf: the row's number less 1
	Hashes     []string `json:"hashes"`     // base64, from the leaf up
	Checkpoint string   `json:"checkpoint"` // a signed note
	Text       string   `json:"text"`       // all of it as a C2SP tlog-proof
}

// Nothing asks for what needs no words.
type Nothing struct{}

// Checkpoint is the size and the root of the ledger, signed by the venue.
type Checkpoint struct {
	Size uint64 `json:"size"` // rows
	Note string `json:"note"` // a signed note (C2SP tlog-checkpoint)
}

// Operations returns the operations.
func Operations(s Service) []*tools.Operation {
	within := tools.Within(caps.ScopeExactly("audit/read", "audit"))
	need := []caps.Request{caps.Need("audit/read", "audit")}
	return []*tools.Operation{
		tools.New("audit:list", "List the decisions on your calls and your agents', the newest first, a page at a time: where a cursor is returned, there are more.",
			func(q Query) []caps.Request {
				if q.Limit < 0 || q.Limit > maxPage {
					return []caps.Request{caps.Invalid(fmt.Errorf("limit is %d: give 1 to %d, or leave it out", q.Limit, maxPage))}
				}
				return need
			}, s.List, within, tools.ReadOnly()),
		tools.New("audit:prove", "Prove to others that a row of yours is in the audit ledger.",
			func(in RowRef) []caps.Request {
				if in.Row == 0 {
					return []caps.Request{caps.Invalid(fmt.Errorf("row is 0: rows begin at 1, audit:list has their numbers"))}
				}
				return need
			}, s.Prove, within, tools.ReadOnly()),
		tools.New("audit:checkpoint", "Return a signed checkpoint of the audit ledger: keep it elsewhere, and whatever is changed before it is found.",
			func(Nothing) []caps.Request { return need }, s.Checkpoint, within, tools.ReadOnly()),
	}
}
