package venue_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"usher/caps"
	"usher/tools"
	"usher/tools/fault"
	"usher/tools/tokens"
	"usher/venue"
	"usher/venue/runs"
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

// Who waits for the end of a run hears of it by what they may do then: a token that was revoked
// meanwhile tells nothing of what came of it.
func TestSettledByWhatOneMayThen(t *testing.T) {
	for name, revoked := range map[string]bool{"while the token stands": false, "once it was revoked": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hold := make(chan struct{})
				op := tools.New("test:hold", "Hold.", func(struct{}) []caps.Request { return []caps.Request{caps.Need("test/use", "w/test")} },
					func(context.Context, tools.Call, struct{}) (string, error) { <-hold; return "the outcome", nil })
				v := open(t, &venue.Options{Tools: []*tools.Operation{op}})
				alice := user(t, v, "alice")
				var made tokens.CreateResult
				if err := json.Unmarshal([]byte(invoke(t, alice, "token:create", `{"name":"mine"}`)), &made); err != nil {
					t.Fatal(err)
				}
				p, err := v.Authenticate(t.Context(), made.Secret)
				if err != nil {
					t.Fatal(err)
				}
				id, err := p.Start(t.Context(), "test:hold", struct{}{})
				if err != nil {
					t.Fatal(err)
				}
				type settled struct {
					rec runs.Record
					err error
				}
				heard := make(chan settled, 1)
				go func() {
					rec, err := p.Await(t.Context(), id)
					heard <- settled{rec, err}
				}()
				synctest.Wait() // it waits for the run
				if revoked {
					invoke(t, alice, "token:revoke", `{"name":"mine"}`)
				}
				close(hold)
				got := <-heard
				if told := strings.Contains(string(got.rec.Output), "outcome"); told == revoked || (fault.Of(got.err) == fault.Unauthenticated) != revoked {
					t.Errorf("it was told %s %s, %v", got.rec.Status, got.rec.Output, got.err)
				}
				if err := v.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
