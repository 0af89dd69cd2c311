package venue_test

import (
	"errors"
	"slices"
	"testing"

	"usher/runtime"
	"usher/tools"
	"usher/venue"
	"usher/venue/config"
)

// A run that goes on has spent what it had spent before, whether its venue was closed
// meanwhile or not: it gets no further than one that never rested.
func TestTheMeterOfARunThatGoesOn(t *testing.T) {
	const ok, failed = runtime.ToolOK, runtime.ToolFailed
	for name, tt := range map[string]struct {
		path    string
		restart bool
		want    []string
	}{
		"without a rest":  {path: "w/notes/1", want: []string{ok, ok, ok, ok, failed, failed}},
		"after an answer": {path: "w/refunds/1", want: []string{ok, ok, ok, failed, failed, failed}}, // the call that is asked about is made twice
		"after a restart": {path: "w/refunds/1", restart: true, want: []string{ok, ok, ok, failed, failed, failed}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, o := t.TempDir(), outside{t.TempDir()}
			look := ask("covia_read", `{"path":"w/a"}`)
			begin := func() (*venue.Venue, *venue.User) {
				v := open(t, &venue.Options{Dir: dir, Limits: config.Limits{Calls: 4}, Models: map[string]runtime.Model{
					"default": o.model("bob", look, look, ask("covia_write", `{"path":"`+tt.path+`","value":1}`), look, look, look),
				}})
				return v, user(t, v, "alice")
			}
			v, alice := begin()
			s := spec("bob", "", `[{"with":"w/","can":"crud/read"},{"with":"w/notes/","can":"crud"},{"with":"w/refunds/","can":"crud/write","ask":true}]`)
			s.Tools = []string{"covia:read", "covia:write"}
			r, err := create(t, alice, s).Start(t.Context(), "main", "go")
			if err != nil {
				t.Fatal(err)
			}
			_, err = r.Wait(t.Context())
			if rest, rests := errors.AsType[*runtime.RestError](err); rests {
				if tt.restart {
					if err := v.Close(); err != nil {
						t.Fatal(err)
					}
					v, alice = begin()
				}
				invoke(t, alice, "approval:approve", `{"id":"`+rest.Waits[0].Approval+`"}`)
				goesOn(t, v, alice, &tools.WaitError{Run: r.ID()})
			} else if err != nil {
				t.Fatal(err)
			}
			var got []string
			for e, err := range alice.Events(t.Context(), r.ID(), 0) {
				if err != nil {
					t.Fatal(err)
				}
				if done, is := e.Event.(runtime.ToolEnd); is {
					got = append(got, done.Outcome)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("its calls come to %q, want %q", got, tt.want)
			}
		})
	}
}
