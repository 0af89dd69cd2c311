package venue_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/caps"
	"usher/runtime/offline"
	"usher/tools/agents"
	"usher/venue"
)

func TestHistory(t *testing.T) {
	v, err := venue.Open(t.Context(), with(offline.Model{}))
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	alice, err := v.User(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	carol, err := alice.CreateAgent(t.Context(), agents.Spec{ID: "Carol", Tools: []string{"covia:read"}, Caps: caps.Declare(caps.Of())})
	if err != nil {
		t.Fatal(err)
	}
	var streamed []string
	for _, say := range []string{"hello", "read w/x"} {
		for ev, err := range carol.Chat(t.Context(), say) {
			if err != nil {
				t.Fatal(err)
			}
			if kind := fmt.Sprintf("%T", ev); !strings.HasSuffix(kind, "Delta") {
				streamed = append(streamed, kind)
			}
		}
	}
	kinds := func(a *venue.Agent, session string) (got []string, err error) {
		for e, err := range a.History(t.Context(), session) {
			if err != nil {
				return got, err
			}
			if got = append(got, fmt.Sprintf("%T", e.Event)); e.Seq != uint64(len(got)) || e.Time.IsZero() {
				t.Errorf("event %d is number %d, at %s", len(got), e.Seq, e.Time)
			}
		}
		return got, nil
	}
	got, err := kinds(carol, "main")
	if diff := cmp.Diff(streamed, got); diff != "" || err != nil {
		t.Errorf("%v, and it is not what happened (-streamed +history):\n%s", err, diff)
	}
	for _, session := range []string{"", "other", "Dan~x"} {
		if got, err := kinds(carol, session); len(got) > 0 || err != nil {
			t.Errorf("session %q has %v, %v", session, got, err)
		}
	}
	if _, err := kinds(carol, "../main"); err == nil {
		t.Error("a session id that cannot be is no error")
	}
	for e, err := range carol.History(t.Context(), "main") { // leaving early is fine
		if err != nil || e.Seq != 1 {
			t.Errorf("begins with %v, %v", e, err)
		}
		break
	}
}
