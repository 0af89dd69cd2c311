package server_test

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"usher/caps"
	"usher/tools/agentauth/client"
	"usher/venue/a2a"
	"usher/venue/auth"
	"usher/venue/config"
)

// called are the operations of the table.
var called = []string{"covia:read", "covia:write", "covia:delete", "covia:list", "covia:copy", "agent:info", "agent:message", "agent:list", "json:merge", "grid:run"}

// byTask is the door of A2A: the caller gives a task to an agent that has what the caller has,
// so that either bounds the call, and the task's artifact is what the agent was answered.
func byTask(post func(*testing.T, string, any) []byte) func(*testing.T, wish) string {
	return func(t *testing.T, w wish) string {
		raw := post(t, "/a2a/bob/message:send", map[string]any{"message": map[string]any{
			"messageId": "m", "role": "ROLE_USER", "parts": []any{map[string]any{"text": told(t, w)}},
		}})
		var out struct {
			Task struct {
				Artifacts []struct{ Parts []struct{ Text string } }
			}
		}
		if err := json.Unmarshal(raw, &out); err != nil {
			t.Fatalf("%v: %s", err, raw)
		}
		if len(out.Task.Artifacts) != 1 || len(out.Task.Artifacts[0].Parts) != 1 {
			t.Fatalf("no call was made: %s", raw)
		}
		return verdictOf(t, []byte(out.Task.Artifacts[0].Parts[0].Text))
	}
}

// skilled has a skill for each operation of the table.
func skilled() config.A2A {
	a := config.A2A{Grants: []config.Grant{{ID: "some", With: "w/lent", Operations: map[string]string{"use": "crud/read"}}}}
	for _, op := range called {
		a.Skills = append(a.Skills, config.Skill{ID: capabilityOf(op), Operation: "use", Op: op, Handle: "path"})
	}
	return a
}

// bySkill is the other door of A2A: the caller uses a skill by its own authority, and says so.
func bySkill(post func(*testing.T, string, any) []byte) func(*testing.T, wish) string {
	return func(t *testing.T, w wish) string {
		raw := post(t, "/a2a/skills/"+capabilityOf(w.Operation)+":invoke", map[string]any{
			"skill": capabilityOf(w.Operation), "arguments": w.Arguments, "metadata": map[string]any{a2a.URI + "/ambient": true},
		})
		var out struct {
			Error *struct {
				Details []struct{ Value json.RawMessage }
			}
		}
		if err := json.Unmarshal(raw, &out); err != nil {
			t.Fatalf("%v: %s", err, raw)
		}
		if out.Error == nil {
			return allowed
		}
		for _, d := range out.Error.Details {
			if len(d.Value) > 0 {
				return verdictOf(t, d.Value)
			}
		}
		t.Fatalf("neither a decision nor a failure of the operation: %s", raw)
		return ""
	}
}

// visited offers each operation of the table to visiting agents under a name of its own. Who
// visits has no capabilities but those of its grants, so each grant gives all that the other
// doors' principal has. It is the namespace of the same user.
func visited(set caps.Set) config.AgentAuth {
	a := config.AgentAuth{Autonomous: &config.Autonomous{Owner: auth.AnonymousUser}}
	for _, op := range called {
		name := capabilityOf(op)
		a.Capabilities = append(a.Capabilities, config.AgentCapability{Name: name, Operation: op, Caps: caps.Declare(set)})
		a.Autonomous.Capabilities = append(a.Autonomous.Capabilities, name)
	}
	return a
}

func capabilityOf(operation string) string { return strings.ReplaceAll(operation, ":", "_") }

// byVisit is the door of Agent-Auth, for an agent that was granted all of [visited].
func byVisit(t *testing.T, srv *httptest.Server) func(*testing.T, wish) string {
	t.Helper()
	key := func() (ed25519.PublicKey, ed25519.PrivateKey) {
		public, private, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		return public, private
	}
	at, err := client.Discover(t.Context(), srv.URL, &client.Options{HTTP: srv.Client()})
	if err != nil {
		t.Fatal(err)
	}
	_, hostKey := key()
	public, private := key()
	host := at.Host(hostKey)
	standing, err := host.Register(t.Context(), public, &client.Registration{Name: "bob", Mode: "autonomous"})
	if err != nil {
		t.Fatal(err)
	}
	if len(standing.Grants) != len(called) || slices.ContainsFunc(standing.Grants, func(g client.Grant) bool { return g.Status != client.Active }) {
		t.Fatalf("not all was granted: %+v", standing.Grants)
	}
	agent := host.Agent(standing.AgentID, private)
	return func(t *testing.T, w wish) string {
		raw, err := json.Marshal(w.Arguments)
		if err != nil {
			t.Fatal(err)
		}
		_, err = agent.Execute(t.Context(), &client.Call{Capability: capabilityOf(w.Operation), Arguments: raw}, nil)
		if err == nil {
			return allowed
		}
		refused, is := errors.AsType[*client.Refusal](err)
		switch {
		case !is:
			t.Fatal(err)
		case refused.Code == "capability_denied":
			return verdictOf(t, refused.Body)
		case refused.Code == "invalid_request":
			return "invalid_input"
		case refused.Code == "internal_error": // of the operation, which is told to the venue alone
			return allowed
		}
		t.Fatalf("neither a decision nor a failure of the operation: %s", refused.Body)
		return ""
	}
}
