package venue_test

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"

	"usher/runtime"
	"usher/runtime/wrap"
	"usher/venue"
)

// A kept answer is for whoever it was given to: another who asks the same is neither told it,
// nor that somebody has asked.
func TestAKeptAnswerIsForWhoAsked(t *testing.T) {
	var asked atomic.Int64
	model := runtime.ModelFunc(func(context.Context, *runtime.Request) iter.Seq2[runtime.Chunk, error] {
		return func(yield func(runtime.Chunk, error) bool) {
			_ = yield(runtime.Chunk{Text: fmt.Sprint("password ", asked.Add(1)), Finish: "stop"}, nil)
		}
	})
	v := open(t, &venue.Options{Models: map[string]runtime.Model{"default": wrap.Cache(model, nil)}})
	says := func(name, session string) (text string) {
		t.Helper()
		user, err := v.User(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		agent, err := user.Agent(t.Context(), "helper")
		if err != nil {
			agent, err = user.CreateAgent(t.Context(), spec("helper", "", `[]`))
		}
		if err != nil {
			t.Fatal(err)
		}
		for ev, err := range agent.ChatIn(t.Context(), session, "Make me a password.") {
			if err != nil {
				t.Fatal(err)
			}
			if done, ok := ev.(runtime.TurnEnd); ok {
				text = done.Text
			}
		}
		return text
	}
	alice, bob, again := says("alice", "one"), says("bob", "one"), says("alice", "two")
	if alice != "password 1" || bob != "password 2" || again != alice {
		t.Errorf("alice is told %q, bob %q, and alice again %q", alice, bob, again)
	}
}
