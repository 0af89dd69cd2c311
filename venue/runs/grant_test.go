package runs_test

import (
	"context"
	"encoding/json"
	"testing"

	"usher/caps"
	"usher/tools"
	"usher/venue/ledger"
	"usher/venue/runs"
)

// What a grant expects and puts is written with the decision that uses it, or there is
// no decision: in whatever context a call is made.
func TestAGrantGoesWithItsDecision(t *testing.T) {
	h := openHouse(t)
	auth := h.mint.Agent(h.alice, "bob", func() caps.Set { return caps.Unrestricted() })
	session, release, err := h.Sessions().Open(t.Context(), auth.Life(), "main", false)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	contexts := map[string]context.Context{"of no run": t.Context()}
	var in string
	for _, kind := range []string{runs.Turn, runs.Job} {
		spec := runs.Spec{Kind: kind, Op: "v/ops/test"}
		if in = "of a job that is over"; kind == runs.Turn {
			spec.Session, in = session, "of a turn that is over"
		}
		r, err := h.Start(t.Context(), auth, spec, func(ctx context.Context, _ *runs.Run) (json.RawMessage, error) {
			contexts[in] = context.WithoutCancel(ctx)
			return json.RawMessage(`1`), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for name, ctx := range contexts {
		t.Run(name, func(t *testing.T) {
			const row = "p/req/x"
			if _, err := h.store.Apply(ctx, nil, map[string][]byte{row: []byte("approved")}, nil); err != nil {
				t.Fatal(err)
			}
			_, rev, err := h.store.Get(ctx, row)
			if err != nil {
				t.Fatal(err)
			}
			e := tools.Entry{Owner: h.alice.String(), Operation: "v/ops/test", Verdict: tools.Allowed, Effects: true, Grant: &tools.Grant{
				Approval: "x", Expect: map[string]uint64{row: rev}, Put: map[string][]byte{row: []byte("used")},
			}}
			seq, err := h.RecordDecision(ctx, e)
			if err != nil {
				t.Fatal(err)
			}
			if err := h.RecordOutcome(ctx, seq, nil); err != nil {
				t.Fatal(err)
			}
			if raw, _, err := h.store.Get(ctx, row); err != nil || string(raw) != "used" {
				t.Errorf("after its use the row is %q, %v", raw, err)
			}
			if _, err := h.RecordDecision(ctx, e); err == nil {
				t.Error("a grant is used twice")
			} else if moved, ok := ledger.StaleKey(err); !ok || moved != row {
				t.Errorf("a grant is used twice: %v", err)
			}
		})
	}
}
