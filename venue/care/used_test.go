package care_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"usher/caps"
	"usher/tools/fault"
	"usher/tools/lending"
	"usher/venue"
	"usher/venue/auth"
	"usher/venue/care"
	"usher/venue/config"
	"usher/venue/store"
	"usher/venue/store/journal"
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

// Where people have signed in at servers of MCP, and the addresses that are told of tasks, are as the
// folder had them last: what was taken back after the moment stays so, and what was exchanged is of
// use.
func TestRestoreAtKeepsLoginsAndPushesOfTheCopy(t *testing.T) {
	dir := small(t)
	j, err := journal.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	apply := func(put map[string][]byte, del ...string) {
		t.Helper()
		if _, err := j.Apply(t.Context(), nil, put, del); err != nil {
			t.Fatal(err)
		}
	}
	rooms := []string{"mcp-login/did:key:x/mcp-login.", "h/push/did:key:x/run/"}
	for _, room := range rooms {
		apply(map[string][]byte{room + "gone": []byte("1"), room + "exchanged": []byte("1"), room + "same": []byte("1")})
	}
	moment := time.Now()
	want := make(map[string]string)
	for _, room := range rooms {
		apply(map[string][]byte{room + "exchanged": []byte("2"), room + "new": []byte("2")}, room+"gone")
		want[room+"exchanged"], want[room+"new"], want[room+"same"] = "2", "2", "1"
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	file, _ := backup(t, dir, plain)
	restored, r := restore(t, file, care.Key{}, moment)
	if r.Kept != 6 {
		t.Errorf("%d records are as they were last, want 6", r.Kept)
	}
	if j, err = journal.Open(restored, nil); err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	got := make(map[string]string)
	for _, room := range rooms {
		for row, err := range store.Rows(t.Context(), j, room, "") {
			if err != nil {
				t.Fatal(err)
			}
			got[row.Key] = string(row.Value)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}
