package venue_test

import (
	"context"
	"encoding/json"
	"testing"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
	"usher/tools/agents"
	"usher/venue"
	"usher/venue/venuetest"
)

// What the agent of another principal does for a turn is not told to whoever talks.
func TestATurnTellsNothingOfWhatOthersDoForIt(t *testing.T) {
	var theirs *venue.User
	model := new(venuetest.Model)
	lends := tools.New("test:lend", "Have another's agent do something.", func(struct{}) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} },
		func(ctx context.Context, _ tools.Call, _ struct{}) (json.RawMessage, error) {
			return theirs.Invoke(ctx, "agent:chat", agents.Chat{AgentID: "theirs", Message: "a secret"})
		}, tools.Within(caps.ScopeAbility("invoke")))
	v := venuetest.Open(t, &venue.Options{Models: map[string]runtime.Model{"default": model}, Tools: []*tools.Operation{lends}})
	made := map[string]*venue.User{}
	for user, agent := range map[string]string{"alice": "hers", "mallory": "theirs"} {
		p, err := v.User(t.Context(), user)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Invoke(t.Context(), "agent:create", json.RawMessage(`{"agentId":"`+agent+`","config":{"tools":["test:lend"]}}`)); err != nil {
			t.Fatal(err)
		}
		made[user] = p
	}
	theirs = made["mallory"]
	model.Ask("test_lend", `{}`)
	talk, err := made["alice"].Talk(t.Context(), agents.Chat{AgentID: "hers", Message: "go"})
	if err != nil {
		t.Fatal(err)
	}
	for h, err := range talk.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if h.Of != talk.Run() {
			t.Errorf("told of another's run: %+v", h)
		}
	}
	if _, err := talk.Answer(); err != nil {
		t.Error(err)
	}
}
