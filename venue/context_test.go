package venue_test

import (
	"encoding/json"
	"strings"
	"testing"

	"usher/tools"
	"usher/tools/agents"
)

// What an operation answers stands in an agent's context as far as the agent's
// own capabilities reach, whoever wrote its config.
func TestH20AnOperationInAContext(t *testing.T) {
	p := &puppet{}
	v := open(t, with(p))
	alice := user(t, v, "alice")
	invoke(t, alice, "covia:write", `{"path":"w/inbox/one","value":"hello"}`)
	invoke(t, alice, "covia:write", `{"path":"w/secret/plan","value":"buy Kestrel"}`)
	const config = `{"context":[
		{"op":"covia:list","input":{"path":"w/inbox"},"label":"Inbox"},
		{"op":"covia:read","input":{"path":"w/secret/plan"}},
		{"op":"grid:run","input":{"operation":"covia:read","input":{"path":"w/secret/plan"}},"label":"Around"},
		{"op":"covia:lst"}
	],"caps":[{"with":"w/inbox","can":"crud/read"}]}`
	boss := create(t, alice, spec("boss", "", `[{"with":"g/","can":"agent"},{"with":"w/inbox","can":"crud/read"}]`))
	p.Ask("agent_create", `{"agentId":"carol","config":`+config+`}`)
	chat(t, boss, "Make Carol.")
	carol, err := alice.Agent(t.Context(), "carol")
	if err != nil {
		t.Fatal(err)
	}
	chat(t, carol, "What is new?")
	told := p.Systems()[len(p.Systems())-1]
	for _, want := range []string{
		"Inbox", `"one"`,
		"(not available: Capability denied: v/ops/covia/read requires crud/read on w/secret/plan.",
		"(not available: Capability denied: v/ops/grid/run requires invoke",
		`(not available: operation not found: "covia:lst"`,
	} {
		if !strings.Contains(told, want) {
			t.Errorf("the system message lacks %q:\n%s", want, told)
		}
	}
	if strings.Contains(told, "buy Kestrel") {
		t.Errorf("the system message holds what Carol may not read:\n%s", told)
	}
	denials := 0
	for row, err := range v.Audit(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if row.Entry != nil && row.Actor == "carol" && row.Verdict == tools.Denied && row.Session != "" {
			denials++
		}
	}
	if denials != 2 {
		t.Errorf("the ledger has %d denials of Carol's context with her session, want 2", denials)
	}
}

func TestARequiredOperationInAContext(t *testing.T) {
	v := open(t, with(&puppet{}))
	s := spec("carol", "", `[]`)
	s.Context = []agents.ContextEntry{{Op: "covia:list", Input: json.RawMessage(`{"path":"w/inbox"}`), Required: true}}
	carol := create(t, user(t, v, "alice"), s)
	for _, err := range carol.Chat(t.Context(), "hi") {
		if err != nil {
			if want := "load required context covia:list of agent carol: Capability denied"; !strings.Contains(err.Error(), want) {
				t.Errorf("turn = %v, want %q", err, want)
			}
			return
		}
	}
	t.Error("the turn went on without its required context")
}

// What is too long to be read is missing from a context, not empty there.
func TestAValueTooLongForAContext(t *testing.T) {
	p := &puppet{}
	v := open(t, with(p))
	alice := user(t, v, "alice")
	for _, part := range []string{"a", "b"} {
		invoke(t, alice, "covia:write", `{"path":"w/policy/`+part+`","value":"`+strings.Repeat("x", 600_000)+`"}`)
	}
	s := spec("carol", "", `[{"with":"w/","can":"crud/read"}]`)
	s.Context = []agents.ContextEntry{{Path: "w/policy"}}
	carol := create(t, alice, s)
	const want = "w/policy holds 1200015 bytes, too many for a context"
	chat(t, carol, "hi")
	if told := p.Systems()[0]; !strings.Contains(told, "(not available: "+want+")") {
		t.Errorf("the system message lacks %q:\n%.2000s", want, told)
	}
	invoke(t, alice, "agent:update", `{"agentId":"carol","config":{"context":[{"path":"w/policy","required":true}]}}`)
	if _, err := turnIn(t.Context(), carol, "main", "hi"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("turn without its required context: %v, want %q", err, want)
	}
}

func TestAMessageIsBounded(t *testing.T) {
	v := open(t, with(&puppet{}))
	alice := user(t, v, "alice")
	create(t, alice, spec("carol", "", `[]`))
	for n, ok := range map[int]bool{agents.MaxMessage: true, agents.MaxMessage + 1: false} {
		_, err := alice.Invoke(t.Context(), "agent:message", map[string]string{"agentId": "carol", "message": strings.Repeat("x", n)})
		if (err == nil) != ok {
			t.Errorf("a message of %d bytes: %v", n, err)
		}
	}
}

func TestContextEntriesThatAreWrong(t *testing.T) {
	v := open(t, with(&puppet{}))
	alice := user(t, v, "alice")
	for entry, want := range map[string]string{
		`{"op":"covia:list","path":"w/a"}`:    "one of path, text and op",
		`{"label":"x"}`:                       "one of path, text and op",
		`{"text":"x","input":{}}`:             "input is for op",
		`{"op":"covia:list","input":["w"]}`:   "input is a list",
		`{"op":"covia:list","input":null}`:    "input is null",
		`{"op":"covia:*"}`:                    "means several operations",
		`{"path":"w/../s"}`:                   `".." segment`,
		`{"op":"covia:list","inptu":{"a":1}}`: "inptu",
	} {
		_, err := alice.Invoke(t.Context(), "agent:create", json.RawMessage(`{"agentId":"carol","config":{"context":[`+entry+`]}}`))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("context %s = %v, want %q", entry, err, want)
		}
	}
}
