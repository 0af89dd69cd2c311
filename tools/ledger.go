package tools

import (
	"context"
	"encoding/json"
	"slices"

	"usher/caps/value"
)

// Ledger takes every decision of a gate. A decision that cannot be written is
// a call that does not run.
type Ledger interface {
	// RecordDecision is called before the handler runs, and for every denial. The
	// returned sequence number identifies the decision.
	RecordDecision(ctx context.Context, e Entry) (seq uint64, err error)
	// RecordOutcome is called after the handler ran, with its error if it failed.
	// When it returns, the decision and the outcome are durable.
	RecordOutcome(ctx context.Context, seq uint64, failure error) error
}

// Observer is shown the calls that come to a gate, as they are decided.
type Observer interface {
	// StartDecision begins a decision, which is made in the context that it returns;
	// the handler runs in the caller's. decided ends it: err is why the call does
	// not run, nil where it does.
	StartDecision(ctx context.Context) (_ context.Context, decided func(r *Ruling, err error))
}

// Verdicts on a call, each tighter than the one before.
const (
	Allowed = "allow"
	Asked   = "ask" // a person has to approve first
	Denied  = "deny"
)

// Entry is one decision: who, through whom, what was asked, on what authority,
// and the verdict.
type Entry struct {
	Owner     string        `json:"owner"`
	Actor     string        `json:"actor,omitempty"`
	Via       []string      `json:"via,omitempty"`
	Wrote     []string      `json:"wrote,omitempty"` // the agents of [Authority.Behind]: whose program makes the call
	Operation string        `json:"operation"`
	Needs     []Requirement `json:"needs"` // the first maxNeeds; see Omitted
	Omitted   int           `json:"needsOmitted,omitempty"`
	Verdict   string        `json:"verdict"`
	Reason    string        `json:"reason,omitempty"`
	BoundedBy string        `json:"boundedBy,omitempty"` // the agent that asked, where only that one is denied
	Digest    string        `json:"inputHmac,omitempty"` // of Input, made by the ledger under a key of its own
	Effects   bool          `json:"effects,omitempty"`
	Job       string        `json:"job,omitempty"`
	Session   string        `json:"session,omitempty"`
	Schedule  string        `json:"schedule,omitempty"` // that the call comes of

	Approval string `json:"approval,omitempty"` // id of the request that a person answers, or has answered

	// Grant is used up with the decision; nil for none.
	Grant *Grant `json:"-"`
	// Input is what the ledger makes the digest of, and keeps nothing else of:
	// nil where the operation is [WithSeal] or [WithoutDigest].
	Input json.RawMessage `json:"-"`
	// Call is the id of the model's call that it is the decision on; empty: of none.
	Call string `json:"-"`
	// Inner says that an operation makes the call, not the actor itself.
	Inner bool `json:"-"`
	// Known says that there is such an operation: a name that means nothing is
	// anybody's text.
	Known bool `json:"-"`
}

// Bounds of an entry, so that it can always be written.
const (
	maxNeeds  = 64
	maxReason = 4 << 10 // bytes of a reason or an error text
	maxBy     = 2 << 10 // bytes of the capability that met a requirement
)

// Cut shortens a text to maxReason.
func Cut(text string) string { return value.Cut(text, maxReason) }

// Requirement is one requirement of a call and the capability that met it.
type Requirement struct {
	Ability  string `json:"ability"`
	Resource string `json:"resource"`
	By       string `json:"by,omitempty"` // "crud on w/notes/"; empty when nothing met it

	// Asked marks the requirement that a person has to allow, by the capability itself.
	Asked bool `json:"asked,omitempty"`

	// Unmet marks the requirement that the call was denied for.
	Unmet bool `json:"unmet,omitempty"`

	// Proofs are the CIDs of the delegations that gave access to another
	// principal's resource, the caller's own first.
	Proofs []string `json:"proofs,omitempty"`
}

// pickRequirements picks the requirements for an entry: the one that was not met is among
// them.
func pickRequirements(rows []Requirement) (kept []Requirement, omitted int) {
	if len(rows) <= maxNeeds {
		return rows, 0
	}
	kept = rows[:maxNeeds]
	if i := slices.IndexFunc(rows, func(r Requirement) bool { return r.Unmet }); i >= maxNeeds {
		kept = append(slices.Clone(rows[:maxNeeds-1]), rows[i])
	}
	return kept, len(rows) - len(kept)
}
