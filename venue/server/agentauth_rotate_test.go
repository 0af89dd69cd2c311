package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"

	"usher/ucan"
	"usher/venue/config"
	"usher/venue/visitors"
)

// offers has the venue offer what it did, with some words of its configuration in the place of others.
func (w *world) offers(old, now string) {
	w.Helper()
	cfg, err := config.Parse("usher.yaml", []byte(strings.Replace(settings, old, now, 1)))
	if err == nil {
		err = w.venue.Configure(w.Context(), cfg)
	}
	if err != nil {
		w.Fatal(err)
	}
}

// Under another key a grant gives what a person has approved, and no longer: what the configuration
// has come to offer under its name nobody has.
func TestAnotherKeyHasWhatWasApproved(t *testing.T) {
	w := visitorOpen(t, nil)
	a := w.host().approved(object{"capabilities": []any{"read_account"}})
	w.offers("description: Read an account., caps: [{with: w/accounts/, can: crud/read}]", "description: Read an account., caps: [{with: w/, can: crud/read}]")
	read := func(when string) {
		t.Helper()
		status, out := a.execute("read_account", object{"path": "w/secret"})
		w.want(when+", what was not approved", status, out, http.StatusForbidden, "capability_denied")
		if status, out := a.execute("read_account", object{"path": "w/accounts/one"}); status != http.StatusOK {
			t.Errorf("%s: %d %v", when, status, out)
		}
	}
	read("before")
	for _, when := range []string{"under another key", "under a third"} {
		next := visitorNewKey()
		if status, out := w.post("/agent/rotate-key", a.jwt(nil), object{"public_key": next.public}); status != http.StatusOK {
			t.Fatalf("rotate: %d %v", status, out)
		}
		a.key = next
		read(when)
	}
}

// A key takes the place of another also where the venue offers a capability no more that was granted.
func TestAnotherKeyWhereLessIsOffered(t *testing.T) {
	w := visitorOpen(t, nil)
	a := w.host().approved(object{"capabilities": []any{"read_account", "write_again"}})
	again := "    - {name: write_again, operation: 'covia:write', caps: [{with: w/accounts/, can: crud/write}]}\n"
	w.offers(again, "")
	old, next := a.key, visitorNewKey()
	if status, out := w.post("/agent/rotate-key", a.jwt(nil), object{"public_key": next.public}); status != http.StatusOK {
		t.Fatalf("rotate: %d %v", status, out)
	}
	a.key = next
	if status, out := a.execute("read_account", object{"path": "w/accounts/one"}); status != http.StatusOK {
		t.Errorf("what is offered still: %d %v", status, out)
	}
	status, out := a.execute("write_again", object{"path": "w/accounts/one", "value": 1})
	w.want("what is offered no more", status, out, http.StatusForbidden, "capability_not_granted")
	w.offers("", "")
	in := object{"path": w.alice.user.DID().String() + "/w/accounts/one", "value": 2}
	if out, err := w.itself(old).Invoke(t.Context(), "covia:write", in); err == nil {
		t.Errorf("the key from before writes: %s", out)
	}
	if out, err := w.itself(next).Invoke(t.Context(), "covia:write", in); err != nil {
		t.Errorf("the key in its place: %s %v", out, err)
	}
}

// Who has signed by a key changes nothing once another key has taken its place.
func TestAKeyThatWasReplacedChangesNothing(t *testing.T) {
	type change func(*visitors.Room, *visitors.Caller, *agent) error
	next := func() json.RawMessage {
		raw, _ := json.Marshal(visitorNewKey().public)
		return raw
	}
	both := map[string]change{
		"another key": func(room *visitors.Room, by *visitors.Caller, a *agent) error {
			_, err := room.RotateAgent(a.w.Context(), by, a.id, next())
			return err
		},
		"its end": func(room *visitors.Room, by *visitors.Caller, a *agent) error {
			_, err := room.Revoke(a.w.Context(), by, ucan.DID{}, a.id)
			return err
		},
		"the end of a grant": func(room *visitors.Room, by *visitors.Caller, a *agent) error {
			_, _, err := room.RevokeGrants(a.w.Context(), by, ucan.DID{}, a.id, []string{"read_account"})
			return err
		},
		"its status": func(room *visitors.Room, by *visitors.Caller, a *agent) error {
			_, err := room.Status(a.w.Context(), by, a.id)
			return err
		},
	}
	byAgent := map[string]change{
		"more": func(room *visitors.Room, by *visitors.Caller, a *agent) error {
			_, err := room.Ask(a.w.Context(), by, visitors.Petition{Capabilities: []visitors.Want{{Name: "write_account"}}})
			return err
		},
	}
	byHost := map[string]change{
		"another key of the host": func(room *visitors.Room, by *visitors.Caller, a *agent) error {
			_, err := room.RotateHost(a.w.Context(), by, next())
			return err
		},
		"to go on": func(room *visitors.Room, by *visitors.Caller, a *agent) error {
			_, err := room.Reactivate(a.w.Context(), by, a.id)
			return err
		},
		"another code": func(room *visitors.Room, by *visitors.Caller, a *agent) error {
			_, err := room.NewCode(a.w.Context(), by, a.id)
			return err
		},
		"a person for it": func(room *visitors.Room, by *visitors.Caller, a *agent) error {
			_, err := room.Claim(a.w.Context(), by, a.id, visitors.Petition{})
			return err
		},
		"the end of the host": func(room *visitors.Room, by *visitors.Caller, a *agent) error {
			_, _, err := room.RevokeHost(a.w.Context(), by, ucan.DID{}, "")
			return err
		},
	}
	maps.Copy(byAgent, both)
	maps.Copy(byHost, both)
	for who, changes := range map[string]map[string]change{"the agent": byAgent, "the host": byHost} {
		for name, change := range changes {
			t.Run(who+": "+name, func(t *testing.T) {
				w := visitorOpen(t, nil)
				a := w.host().approved(object{"capabilities": []any{"read_account"}})
				jwt, path, in := a.jwt, "/agent/rotate-key", object{"public_key": visitorNewKey().public}
				if who == "the host" {
					jwt, path = a.visitorHost.jwt, "/host/rotate-key"
				}
				by, err := w.venue.Visitors().Who(t.Context(), &visitors.Request{Token: jwt(nil), Audiences: []string{w.server.URL}})
				if err != nil {
					t.Fatal(err)
				}
				if status, out := w.post(path, jwt(nil), in); status != http.StatusOK {
					t.Fatalf("rotate: %d %v", status, out)
				}
				err = change(w.venue.Visitors(), by, a)
				if refused, is := errors.AsType[*visitors.Refusal](err); !is || refused.Code.Name != "invalid_jwt" {
					t.Errorf("by the key from before: %v", err)
				}
			})
		}
	}
}

// What was signed for a key gives nothing once another has taken its place, also where the venue was
// stopped before it was revoked.
func TestAKeyThatWasReplacedHasNothing(t *testing.T) {
	w := visitorOpen(t, nil)
	a := w.host().approved(object{"capabilities": []any{"write_account"}})
	write := func(k *key) error {
		in := object{"path": w.alice.user.DID().String() + "/w/accounts/one", "value": 2}
		_, err := w.itself(k).Invoke(t.Context(), "covia:write", in)
		return err
	}
	if err := write(a.key); err != nil {
		t.Fatal(err)
	}
	room := w.venue.Visitors()
	withdraw := room.Withdraw
	room.Withdraw = func(context.Context, ucan.DID, ucan.CID) error { return errors.New("the venue is stopped") }
	next := visitorNewKey()
	status, out := w.post("/agent/rotate-key", a.jwt(nil), object{"public_key": next.public})
	w.want("rotate", status, out, http.StatusInternalServerError, "internal_error")
	room.Withdraw = withdraw
	if err := write(a.key); err == nil {
		t.Error("the key from before writes")
	}
	if err := write(next); err != nil {
		t.Errorf("the key in its place: %v", err)
	}
}
