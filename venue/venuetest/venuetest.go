// Package venuetest has what the tests of a venue and of its faces begin with:
// [Open] a venue, whose agents a [Model] moves, make its users and agents, and
// run turns. What fails ends the test.
package venuetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"usher/runtime"
	"usher/tools/agents"
	"usher/tools/fault"
	"usher/venue"
	"usher/venue/config"
)

// Open opens a venue that the test closes at its end.
func Open(t testing.TB, opts *venue.Options) *venue.Venue {
	t.Helper()
	v, err := venue.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

// With is a venue in memory whose agents have the model.
func With(m runtime.Model) *venue.Options {
	return &venue.Options{Models: map[string]runtime.Model{"default": m}}
}

// Config reads a configuration.
func Config(t testing.TB, yaml string) *config.Config {
	t.Helper()
	c, err := config.Parse("usher.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// User is the venue's user of the name.
func User(t testing.TB, v *venue.Venue, name string) *venue.User {
	t.Helper()
	u, err := v.User(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// Spec is an agent with every tool, so that the gate alone decides. caps is
// JSON; empty says nothing of them.
func Spec(id, model, caps string) agents.Spec {
	s := agents.Spec{ID: id, Model: model, Tools: []string{"covia:*", "agent:*", "grid:*", "json:*", "schema:*"}}
	if caps != "" {
		if err := json.Unmarshal([]byte(caps), &s.Caps); err != nil {
			panic(err)
		}
	}
	return s
}

// Create makes an agent of the user.
func Create(t testing.TB, u *venue.User, s agents.Spec) *venue.Agent {
	t.Helper()
	a, err := u.CreateAgent(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Agent is the user's agent of the id.
func Agent(t testing.TB, u *venue.User, id string) *venue.Agent {
	t.Helper()
	a, err := u.Agent(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Info describes the agent.
func Info(t testing.TB, a *venue.Agent) agents.Info {
	t.Helper()
	info, err := a.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// Invoke runs an operation for the user. Input and output are JSON.
func Invoke(t testing.TB, u *venue.User, operation, input string) string {
	t.Helper()
	out, err := u.Invoke(t.Context(), operation, json.RawMessage(input))
	if err != nil {
		t.Fatalf("%s %s: %v", operation, input, err)
	}
	return string(out)
}

// Read is what covia:read answers the user for a path.
func Read(t testing.TB, u *venue.User, path string) string {
	t.Helper()
	return Invoke(t, u, "covia:read", fmt.Sprintf(`{"path":%q}`, path))
}

// Chat runs a turn in the agent's main session, and returns what happened.
func Chat(t testing.TB, a *venue.Agent, text string) []runtime.Event {
	t.Helper()
	var events []runtime.Event
	for ev, err := range a.Chat(t.Context(), text) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, ev)
	}
	return events
}

// Turn runs a turn that may fail, and returns how it ended and what its tool
// calls came to.
func Turn(ctx context.Context, a *venue.Agent, session, text string) (results []runtime.ToolEnd, err error) {
	for ev, failure := range a.ChatIn(ctx, session, text) {
		if done, ok := ev.(runtime.ToolEnd); ok {
			results = append(results, done)
		}
		err = failure
	}
	return results, err
}

// Answer is the text that a turn in the agent's main session ends with, or why
// there is none.
func Answer(ctx context.Context, a *venue.Agent, text string) (string, error) {
	for ev, err := range a.Chat(ctx, text) {
		if err != nil {
			return "", err
		}
		switch done, ok := ev.(runtime.TurnEnd); {
		case ok && done.Error != "":
			return "", errors.New(done.Error)
		case ok:
			return done.Text, nil
		}
	}
	return "", errors.New("the turn did not end")
}

// Waiting is the outcome of a call that [Attempt] makes and that waits for a person.
const Waiting = "waiting"

// Attempt lets the agent, which m moves, make one call and returns what came of
// it: in its main session, or in one of its own where a call waits in that.
func Attempt(t testing.TB, a *venue.Agent, m *Model, tool, arguments string) runtime.ToolEnd {
	t.Helper()
	m.Ask(tool, arguments)
	session := "main"
	if cut, err := a.Interruption(t.Context(), session); err == nil && cut != nil && cut.Code == string(fault.Waiting) {
		session = ""
	}
	results, err := Turn(t.Context(), a, session, "go")
	if rest, waits := errors.AsType[*runtime.RestError](err); waits {
		return runtime.ToolEnd{Name: tool, Outcome: Waiting, Result: rest.Error()}
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(results) == 0 {
		t.Fatalf("%s was not called", tool)
	}
	return results[0]
}
