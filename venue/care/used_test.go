package care_test

import (
	"encoding/json"
	"testing"
	"time"

	"usher/caps"
	"usher/tools/fault"
	"usher/tools/lending"
	"usher/venue"
	"usher/venue/auth"
	"usher/venue/care"
	"usher/venue/config"
	"usher/venue/venuetest"
)

// An approval that was used after the moment that a folder is taken back to is used up
// there, too.
func TestRestoreAtUsesNoApprovalTwice(t *testing.T) {
	var asking caps.Set
	if err := json.Unmarshal([]byte(`[{"with":"w/pay","can":"crud/write","ask":true}]`), &asking); err != nil {
		t.Fatal(err)
	}
	opts := &venue.Options{Dir: t.TempDir(), Idle: true, Auth: config.Auth{Anonymous: &config.AnonymousCaps{Caps: caps.Declare(asking)}}}
	v, err := venue.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	pay := func(v *venue.Venue) error {
		nobody, err := v.Anonymous(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = nobody.Invoke(t.Context(), "covia:write", map[string]any{"path": "w/pay/1", "value": 1})
		return err
	}
	if err := pay(v); fault.Of(err) != fault.Waiting {
		t.Fatalf("the call ends with %v, want that it waits for a person", err)
	}
	owner := venuetest.User(t, v, auth.AnonymousUser)
	var list struct{ Requests []struct{ ID string } }
	if err := json.Unmarshal([]byte(venuetest.Invoke(t, owner, "approval:list", `{}`)), &list); err != nil || len(list.Requests) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	venuetest.Invoke(t, owner, "approval:approve", `{"id":"`+list.Requests[0].ID+`"}`)
	moment := time.Now()
	if err := pay(v); err != nil {
		t.Fatal(err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	file, _ := backup(t, opts.Dir, plain)
	opts.Dir, _ = restore(t, file, care.Key{}, moment)
	v = venuetest.Open(t, opts)
	if err := pay(v); fault.Of(err) != fault.Waiting {
		t.Errorf("the approval is used again: %v", err)
	}
}

// What was lent and revoked after the moment is revoked there, and what was not is not.
func TestRestoreAtLendsNothingThatIsRevoked(t *testing.T) {
	c, err := config.Parse("usher.yaml", []byte(`
user: alice
data: [{path: w/docs/one, value: {title: One}}]
a2a:
  grants: [{id: read, description: Read., with: w/docs, operations: {retrieve: crud/read}, name: title}]
  skills: [{id: get, operation: retrieve, op: "covia:read", handle: path, result: value}]
`))
	if err != nil {
		t.Fatal(err)
	}
	opts := &venue.Options{Dir: t.TempDir(), Idle: true, Config: c}
	v, err := venue.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	var lent [2]lending.Capability
	for i := range lent {
		var list lending.Capabilities
		if err := json.Unmarshal([]byte(venuetest.Invoke(t, venuetest.User(t, v, "alice"), "capability:request", `{"grants":["read"],"statedPurpose":"x"}`)), &list); err != nil || len(list.Capabilities) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		lent[i] = list.Capabilities[0]
	}
	moment := time.Now()
	venuetest.Invoke(t, venuetest.User(t, v, "alice"), "capability:revoke", `{"revocationId":"`+lent[0].Revocation+`"}`)
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	file, _ := backup(t, opts.Dir, plain)
	opts.Dir, _ = restore(t, file, care.Key{}, moment)
	v = venuetest.Open(t, opts)
	for i, want := range []fault.Code{fault.Refused, ""} {
		_, err := venuetest.User(t, v, "alice").Invoke(t.Context(), "capability:use", map[string]any{
			"skill": "get", "arguments": map[string]string{"resourceHandle": lent[i].Handles[0].Handle},
		})
		if err == nil && want != "" || err != nil && fault.Of(err) != want {
			t.Errorf("capability %d: %v, want %q", i, err, want)
		}
	}
}
