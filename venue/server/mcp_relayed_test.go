package server_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// A client's model is not the person: it can neither answer for them, nor make tokens of theirs, nor read
// their secrets, by whatever way it calls.
func TestWordOfAPerson(t *testing.T) {
	p := suite(t, nil)
	if _, err := p.alice.Invoke(t.Context(), "covia:write", json.RawMessage(`{"path":"w/files/a","value":1}`)); err != nil {
		t.Fatal(err)
	}
	for _, version := range versions {
		cs := mcpPipes(t, p.alice, version)
		offered := names(t, cs)
		for _, name := range []string{"approval_approve", "approval_deny", "token_create", "token_revoke", "secret_extract", "secret_set", "mcp_accept"} {
			if slices.Contains(offered, name) {
				t.Errorf("%s is offered", name)
			}
		}
		if !slices.Contains(offered, "approval_list") {
			t.Error("approval_list is not offered")
		}
		if said, failed, _ := call(t, cs, "ask_clerk", `{"message":"delete w/files/a"}`); !failed || !strings.Contains(said, "waits for the approval of a person") {
			t.Errorf("what needs a person: %s", said)
		}
		raw, err := p.alice.Invoke(t.Context(), "approval:list", map[string]any{})
		var list struct{ Requests []struct{ ID string } }
		if err == nil {
			err = json.Unmarshal(raw, &list)
		}
		if err != nil || len(list.Requests) == 0 {
			t.Fatalf("what waits: %s, %v", raw, err)
		}
		id := list.Requests[0].ID
		for _, tt := range []struct{ tool, input string }{
			{"token_create", `{"name":"x"}`},
			{"grid_run", `{"operation":"token:create","input":{"name":"x"}}`},
			{"secret_extract", `{"name":"x"}`},
			{"grid_run", `{"operation":"secret:extract","input":{"name":"x"}}`},
			{"approval_approve", `{"id":"` + id + `"}`},
			{"grid_run", `{"operation":"approval:approve","input":{"id":"` + id + `"}}`},
		} {
			if said, failed, _ := call(t, cs, tt.tool, tt.input); !failed {
				t.Errorf("%s %s = %s", tt.tool, tt.input, said)
			}
		}
	}
	raw, err := p.alice.Invoke(t.Context(), "covia:read", json.RawMessage(`{"path":"w/files/a"}`))
	if err != nil || strings.Contains(string(raw), `"exists":false`) {
		t.Errorf("what nobody approved is done: %s, %v", raw, err)
	}
	raw, err = p.alice.Invoke(t.Context(), "token:list", map[string]any{})
	if err != nil || strings.Contains(string(raw), `"name":"x"`) {
		t.Errorf("tokens: %s, %v", raw, err)
	}
}
