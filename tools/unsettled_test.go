package tools_test

import (
	"context"
	"sync/atomic"
	"testing"

	"usher/caps"
	"usher/tools"
	"usher/tools/fault"
	"usher/ucan"
)

// restless are agents whose authority changes each time that it is asked for, so
// many times.
type restless struct {
	owner   ucan.DID
	changes int64
	asked   atomic.Int64
}

func (r *restless) Epoch() uint64 { return uint64(min(r.asked.Add(1), r.changes)) }

func (r *restless) Live(_ context.Context, life tools.Life) (caps.Set, ucan.DID) {
	if life.Agent() == "author" {
		return caps.Of(caps.MustCapability("w/", "crud")), r.owner
	}
	return caps.Of(caps.MustCapability("w/", "crud"), caps.MustCapability("o/", "invoke")), r.owner
}

// A call runs under an authority that stood while it was decided. Where none
// stands, it does not run, and the caller is told to try again.
func TestAnAuthorityThatKeepsChanging(t *testing.T) {
	for name, tc := range map[string]struct {
		changes int64
		called  string
		want    fault.Code
		runs    int
	}{
		"settles":                  {changes: 6, called: "test:write", runs: 1},
		"never settles":            {changes: 1 << 60, called: "test:write", want: fault.Busy},
		"settles by a pinned name": {changes: 6, called: "o/write", runs: 1}, // its author may invoke nothing
	} {
		t.Run(name, func(t *testing.T) {
			var wrote []string
			registry, ledger := new(tools.Registry), new(memoryLedger)
			if err := registry.Register(writer(&wrote)); err != nil {
				t.Fatal(err)
			}
			me := owner(t, 1)
			g, mint := tools.NewGate(registry, &tools.GateOptions{Ledger: ledger, Lives: &restless{owner: me, changes: tc.changes}})
			author := mint.Agent(me, tools.NewLife(me, "author", "1")).Bound()
			registry.SetResolver(func(ctx context.Context, _ ucan.DID, at caps.Resource, meter *tools.Meter) (*tools.Operation, error) {
				op, err := registry.Resolve(ctx, me, caps.Set{}, "test:write", meter)
				return op.Pin(at.String(), author), err
			})
			_, err := g.Invoke(t.Context(), mint.Agent(me, tools.NewLife(me, "a", "1")), tools.Invocation{Operation: tc.called, Input: []byte(`{"path":"w/a"}`)})
			if fault.Of(err) != tc.want || len(wrote) != tc.runs || len(ledger.entries) != tc.runs {
				t.Errorf("Invoke = %v with %d writes and %d rows, want %v and %d of each", err, len(wrote), len(ledger.entries), tc.want, tc.runs)
			}
		})
	}
}
