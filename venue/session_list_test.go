package venue_test

import (
	"errors"
	"strings"
	"testing"

	"usher/tools/agents"
	"usher/venue"
	"usher/venue/runs"
	"usher/venue/venuetest"
)

func TestSessions(t *testing.T) {
	h := newHouse(t, nil, nil)
	list := func(a *venue.Agent) map[string]runs.Head {
		t.Helper()
		all, err := a.Sessions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		byID := make(map[string]runs.Head)
		for i, s := range all {
			if byID[s.ID] = s; s.Began.IsZero() || s.Last.Before(s.Began) || i > 0 && s.Last.After(all[i-1].Last) {
				t.Errorf("session %d of %v is out of order, or its times are", i, all)
			}
		}
		return byID
	}
	if got := list(h.kid); len(got) > 0 {
		t.Errorf("before anything was said there is %v", got)
	}
	long := strings.Repeat("é", 300)
	for _, turn := range [][2]string{{"main", "hello"}, {"other", long}, {"main", "again"}} {
		if _, err := turnIn(t.Context(), h.kid, turn[0], turn[1]); err != nil {
			t.Fatal(err)
		}
	}
	h.p.Ask("agent_request", `{"agentId":"kid","input":"work"}`)
	h.p.Ask("agent_message", `{"agentId":"kid","message":"later"}`)
	if _, err := turnIn(t.Context(), h.boss, "main", "go"); err != nil {
		t.Fatal(err)
	}
	got := list(h.kid)
	for id, want := range map[string]runs.Head{
		"main":  {Turns: 2, First: "hello", Waiting: 1},
		"other": {Turns: 1, First: strings.Repeat("é", 200)},
	} {
		if s := got[id]; s.Turns != want.Turns || s.First != want.First || s.Waiting != want.Waiting {
			t.Errorf("session %s is %+v, want %+v", id, s, want)
		}
	}
	delete(got, "main")
	delete(got, "other")
	for id, s := range got {
		if !strings.HasPrefix(id, "boss~") || s.Turns != 1 || s.First != "work" {
			t.Errorf("session %s is %+v, want one with the boss", id, s)
		}
	}
	if len(got) != 1 {
		t.Errorf("there are %d sessions with agents, want 1: %v", len(got), got)
	}
	counted := func(id string) [2]int {
		info := venuetest.Info(t, agentOf(t, h.alice, id))
		return [2]int{info.Sessions, info.Inbox}
	}
	invoke(t, h.alice, "agent:fork", `{"sourceId":"kid","agentId":"twin","includeTimeline":true}`)
	for _, id := range []string{"kid", "twin"} {
		if got := counted(id); got != [2]int{3, 1} {
			t.Errorf("%s has %v sessions and messages, want 3 and 1", id, got)
		}
	}
	if _, err := turnIn(t.Context(), h.kid, "main", "what is new?"); err != nil {
		t.Fatal(err)
	}
	if n := list(h.kid)["main"].Waiting; n != 0 {
		t.Errorf("%d messages wait after the turn that heard them", n)
	}
	if kid, twin := counted("kid"), counted("twin"); kid != [2]int{3, 0} || twin != [2]int{3, 1} {
		t.Errorf("after the turn that heard it the kid has %v sessions and messages, and its twin %v", kid, twin)
	}
}

// Sessions are an owner's: neither an agent of the same id nor one whose id
// begins alike has them.
func TestSessionsAreTheOwners(t *testing.T) {
	h := newHouse(t, nil, nil)
	if _, err := turnIn(t.Context(), h.kid, "main", "a secret of alice"); err != nil {
		t.Fatal(err)
	}
	bob := user(t, h.v, "bob")
	var missing *venue.NoAgentError
	if _, err := bob.Agent(t.Context(), "kid"); !errors.As(err, &missing) {
		t.Errorf("bob gets alice's agent: %v", err)
	}
	for name, a := range map[string]*venue.Agent{
		"bob's kid":    create(t, bob, spec("kid", "kid", forAgents)),
		"alice's kid2": create(t, h.alice, spec("kid2", "kid", forAgents)),
		"alice's ki":   create(t, h.alice, spec("ki", "kid", forAgents)),
	} {
		if list, err := a.Sessions(t.Context()); len(list) > 0 || err != nil {
			t.Errorf("%s has the sessions %v, %v", name, list, err)
		}
	}
	// Another life of the agent has another past.
	if _, err := h.alice.Invoke(t.Context(), "agent:delete", map[string]any{"agentId": "kid"}); err != nil {
		t.Fatal(err)
	}
	if !h.kid.IsOver() || h.boss.IsOver() {
		t.Errorf("the kid has ended: %v, and the boss: %v", h.kid.IsOver(), h.boss.IsOver())
	}
	again := map[string]any{"agentId": "kid", "overwrite": true, "config": agents.Spec{Model: "kid"}}
	if _, err := h.alice.Invoke(t.Context(), "agent:create", again); err != nil {
		t.Fatal(err)
	}
	if list, err := h.kid.Sessions(t.Context()); len(list) > 0 || h.kid.IsOver() || err != nil {
		t.Errorf("made anew it has the sessions %v, %v", list, err)
	}
}
