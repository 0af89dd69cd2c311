package care_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"usher/runtime"
	"usher/tools/scheduler"
	"usher/venue"
	"usher/venue/care"
	"usher/venue/runs"
	"usher/venue/store/journal"
	"usher/venue/venuetest"
)

// The folder that a backup was made of may have gone on: what has begun there, or was
// due, does not happen again in one that is restored, and says so. What waits for a
// person still does.
func TestRestoredDoesNothingTwice(t *testing.T) {
	dir, ago := t.TempDir(), 3*time.Hour
	p := new(venuetest.Model)
	opts := &venue.Options{
		Dir: dir, Idle: true, Models: map[string]runtime.Model{"default": p},
		Now: func() time.Time { return time.Now().Add(-ago) },
	}
	v, err := venue.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	alice := venuetest.User(t, v, "alice")
	soon := opts.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	venuetest.Invoke(t, alice, "scheduler:schedule", `{"name":"once","operation":"covia:write","input":{"path":"w/once","value":1},"at":"`+soon+`"}`)
	venuetest.Invoke(t, alice, "scheduler:schedule", `{"name":"often","operation":"covia:write","input":{"path":"w/often","value":1},"cron":"*/20 * * * *"}`)
	later := time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)
	venuetest.Invoke(t, alice, "scheduler:schedule", `{"name":"later","operation":"covia:write","input":{"path":"w/later","value":1},"at":"`+later+`"}`)
	bob := venuetest.Create(t, alice, venuetest.Spec("bob", "", `[{"with":"w/","can":"crud/write","ask":true}]`))
	ask := func(path string) (run, request string) {
		t.Helper()
		p.Ask("covia_write", `{"path":"`+path+`","value":1}`)
		_, err := venuetest.Turn(t.Context(), bob, "", "go")
		rest, ok := errors.AsType[*runtime.RestError](err)
		if !ok {
			t.Fatalf("the turn ends with %v", err)
		}
		var req struct{ Run string }
		if err := json.Unmarshal([]byte(venuetest.Invoke(t, alice, "approval:show", `{"id":"`+rest.Waits[0].Approval+`"}`)), &req); err != nil {
			t.Fatal(err)
		}
		return req.Run, rest.Waits[0].Approval
	}
	begun, approved := ask("w/begun")
	venuetest.Invoke(t, alice, "approval:approve", `{"id":"`+approved+`"}`)
	waiting, open := ask("w/waiting")
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	file, _ := backup(t, dir, plain)
	opts.Dir, _ = restore(t, file, care.Key{}, time.Time{})
	opts.Idle, ago = false, 0
	if v, err = venue.Open(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	alice = venuetest.User(t, v, "alice")
	schedule := func(name string) (s scheduler.Event) {
		t.Helper()
		var list scheduler.Listing
		if err := json.Unmarshal([]byte(venuetest.Invoke(t, alice, "scheduler:list", `{"handle":"`+name+`"}`)), &list); err != nil || len(list.Events) != 1 {
			t.Fatalf("%s: %+v, %v", name, list, err)
		}
		return list.Events[0]
	}
	if s := schedule("once"); !strings.Contains(s.Error, "restored from a backup") {
		t.Errorf("the schedule whose time passed is %+v", s)
	}
	if s := schedule("often"); s.Missed < 8 || s.Error != "" || s.Time == 0 {
		t.Errorf("the schedule that goes on is %+v", s)
	}
	if s := schedule("later"); s.Error != "" || s.Missed != 0 {
		t.Errorf("the schedule that is to come is %+v", s)
	}
	if rec, err := alice.Run(t.Context(), begun); err != nil || rec.Status != runs.Failed || !strings.HasPrefix(rec.Error, "interrupted") {
		t.Errorf("the run that went on is %s: %s, %v", rec.Status, rec.Error, err)
	}
	if rec, err := alice.Run(t.Context(), waiting); err != nil || rec.Status != runs.Waiting {
		t.Errorf("the run that waits is %s: %s, %v", rec.Status, rec.Error, err)
	}
	venuetest.Invoke(t, alice, "approval:approve", `{"id":"`+open+`"}`)
	for _, err := range alice.Events(t.Context(), waiting, 0) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{"w/once": `{"exists":false}`, "w/often": `{"exists":false}`, "w/begun": `{"exists":false}`, "w/waiting": `{"exists":true,"value":1}`} {
		if got := venuetest.Read(t, alice, path); got != want {
			t.Errorf("%s reads %s, want %s", path, got, want)
		}
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(opts.Dir, &journal.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if raw, _, err := j.Get(t.Context(), venue.RestoredKey); err != nil || raw != nil {
		t.Errorf("the venue would see to it again: %s, %v", raw, err)
	}
}
