package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"usher/caps"
)

// Ledger takes every decision of a gate. A decision that cannot be written is
// a call that does not run.
type Ledger interface {
	// Decided is called before the handler runs, and for every denial. The
	// returned sequence number identifies the decision.
	Decided(ctx context.Context, e Entry) (seq uint64, err error)
	// Finished is called after the handler ran, with its error if it failed.
	// When it returns, the decision and the outcome are durable.
	Finished(ctx context.Context, seq uint64, failure error) error
}

// Verdicts of an [Entry].
const (
	Allowed = "allow"
	Denied  = "deny"
)

// Entry is one decision: who, through whom, what was asked, on what authority,
// and the verdict.
type Entry struct {
	Owner     string        `json:"owner"`
	Actor     string        `json:"actor,omitempty"`
	Via       []string      `json:"via,omitempty"`
	Operation string        `json:"operation"`
	Needs     []Requirement `json:"needs"`
	Verdict   string        `json:"verdict"`
	Reason    string        `json:"reason,omitempty"`
	Digest    string        `json:"inputSha256"`
	Effects   bool          `json:"effects,omitempty"`
	Job       string        `json:"job,omitempty"`
	Session   string        `json:"session,omitempty"`
}

// Requirement is one requirement of a call and the capability that met it.
type Requirement struct {
	Ability  string `json:"ability"`
	Resource string `json:"resource"`
	By       string `json:"by,omitempty"` // "crud on w/notes/"; empty when nothing met it

	// Proofs are the CIDs of the delegations that gave access to another
	// principal's resource, the caller's own first.
	Proofs []string `json:"proofs,omitempty"`
}

// RequirementOf describes a decision.
func RequirementOf(d caps.Decision) Requirement {
	need := d.Request()
	r := Requirement{Ability: string(need.Ability()), Resource: need.Target()}
	if by, ok := d.By(); ok {
		r.By = by.String()
	} else if d.Allowed() {
		r.By = "(unrestricted)"
	}
	return r
}

func digest(input json.RawMessage) string {
	sum := sha256.Sum256(input)
	return hex.EncodeToString(sum[:])
}
