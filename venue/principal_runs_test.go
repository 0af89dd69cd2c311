package venue_test

import (
	"encoding/json"
	"strings"
	"testing"

	"usher/caps"
	"usher/venue"
)

// Runs are listed by one call, with one decision in the ledger, however many there are.
func TestRunsBeforeIsOneCall(t *testing.T) {
	v, err := venue.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	alice, err := v.User(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	const all = 101
	for range all {
		invoke(t, alice, "grid:run", `{"operation":"covia:list","input":{}}`)
	}
	decisions := func() int {
		raw, err := alice.Invoke(t.Context(), "audit:list", json.RawMessage(`{"limit":50}`))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(raw), "grid/job-list")
	}
	before, n := decisions(), 0
	for rec, err := range alice.Narrow(caps.Of(caps.MustCapability("j", "crud/read"))).RunsBefore(t.Context(), "") {
		if err != nil || rec.Authority != nil {
			t.Fatalf("%+v, %v", rec, err)
		}
		n++
	}
	if more := decisions() - before; n != all || more != 1 {
		t.Errorf("%d runs by %d decisions, want %d by one", n, more, all)
	}
	for _, err := range alice.Narrow(caps.Of()).RunsBefore(t.Context(), "") {
		if err == nil {
			t.Error("who may do nothing lists runs")
		}
	}
}
