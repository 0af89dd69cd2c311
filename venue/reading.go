package venue

import (
	"context"
	"slices"

	"usher/tools"
	"usher/venue/store/journal"
)

// records is where the gate records what it decides.
func (v *Venue) records() tools.Ledger {
	if v.readOnly {
		return noLedger{}
	}
	return v.runs
}

// noLedger is the ledger of a venue that is open for reading only. It lets pass what changes nothing
// and shows no secret: whatever else is allowed must be recorded, and so does not run.
type noLedger struct{}

// RecordDecision refuses what nobody could look up later.
func (noLedger) RecordDecision(_ context.Context, e tools.Entry) (uint64, error) {
	opens := func(n tools.Requirement) bool { return n.Ability == "secret/decrypt" }
	if e.Verdict == tools.Allowed && (e.Effects || slices.ContainsFunc(e.Needs, opens)) {
		return 0, journal.ErrReadOnly
	}
	return 0, nil
}

// RecordOutcome has nothing to write.
func (noLedger) RecordOutcome(context.Context, uint64, error) error { return nil }
