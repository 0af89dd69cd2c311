package config

import (
	"encoding/json"
	"os"
	"testing"

	"usher/tools/schema"
)

func TestSchema(t *testing.T) {
	s, err := schema.Compile(t.Context(), Schema(), nil)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, yaml string
		ok         bool
	}{
		{"agents", "agents: [{id: Carol, prompt: Hello., tools: ['covia:read'], caps: [{with: w/, can: crud/read}]}]", true},
		{"budgets", "agents: [{id: Carol, budgets: {run: {calls: 20, money: 0.50}, session: {money: 2}, agent: {tokens: 1000000}}}]", true},
		{"no budgets", "agents: [{id: Carol, budgets: {}}]", true},
		{"caps null", "agents: [{id: Carol, caps: null}]", true},
		{"retention", "retention: {sessions: {age: 720h, number: 10}, runs: {age: 24h}, rows: {number: 100000}}", true},
		{"a hook", "approvals: {hook: {command: [./tell, me], timeout: 5s}}", true},
		{"a hook by url", "approvals: {hook: {url: 'https://example.org/x'}}", true},
		{"a hook of both", "approvals: {hook: {command: [tell], url: 'https://example.org/x'}}", false},
		{"a hook of neither", "approvals: {hook: {timeout: 5s}}", false},
		{"a hook elsewhere", "approvals: {hook: {url: 'file:///etc/passwd'}}", false},
		{"retention of days", "retention: {runs: {age: 30d}}", false},
		{"retention of none", "retention: {rows: {number: 0}}", false},
		{"retention of something else", "retention: {rows: {count: 1}}", false},
		{"limits", "limits: {model_calls: 3, tool_timeout: 300s, tool_result: 256KiB}", true},
		{"size in bytes", "limits: {tool_result: 500}", true},
		{"model settings", "models: {fast: {provider: lines, anything: [1], retry: true}}", true},
		{"schedules", "schedules: [{id: nightly, op: o/report, input: {day: today}, cron: 0 3 * * *, zone: Europe/Berlin, missed: skip}, {id: once, agent: Carol, say: {agent: Dave, text: go}, at: 2026-12-24T18:00:00Z}]", true},
		{"a schedule of nothing", "schedules: [{id: nightly, cron: 0 3 * * *}]", false},
		{"a schedule without a time", "schedules: [{id: nightly, op: o/report}]", false},
		{"a schedule of two times", "schedules: [{id: nightly, op: o/report, cron: 0 3 * * *, at: 2026-12-24T18:00:00Z}]", false},
		{"a zone of one time", "schedules: [{id: nightly, op: o/report, zone: UTC, at: 2026-12-24T18:00:00Z}]", false},
		{"misspelt key", "agents: [{id: Carol, promt: Hello.}]", false},
		{"misspelt root key", "agnets: []", false},
		{"ability", "agents: [{id: Carol, caps: [{with: w/, can: crud/*}]}]", false},
		{"terms", "agents: [{id: Carol, caps: [{with: w/, can: crud, ask: true, until: '2026-12-31T18:00:00Z', when: {/amount: {max: 100, in: [1, 2]}, /to/name: Bob, /tags: [a]}}]}]", true},
		{"denial", "agents: [{id: Carol, caps: [{with: w/, can: crud, deny: true, ask: false}]}]", true},
		{"denial that asks", "agents: [{id: Carol, caps: [{with: w/, can: crud, deny: true, ask: true}]}]", false},
		{"limits on nothing", "agents: [{id: Carol, caps: [{with: w/, can: crud, when: {}}]}]", false},
		{"no limit", "agents: [{id: Carol, caps: [{with: w/, can: crud, when: {/amount: {}}}]}]", false},
		{"bad pointer", "agents: [{id: Carol, caps: [{with: w/, can: crud, when: {amount: 1}}]}]", false},
		{"badly escaped pointer", "agents: [{id: Carol, caps: [{with: w/, can: crud, when: {/a~b: 1}}]}]", false},
		{"unknown operator", "agents: [{id: Carol, caps: [{with: w/, can: crud, when: {/amount: {maximum: 1}}}]}]", false},
		{"limit of text", "agents: [{id: Carol, caps: [{with: w/, can: crud, when: {/amount: {max: '1'}}}]}]", false},
		{"empty list", "agents: [{id: Carol, caps: [{with: w/, can: crud, when: {/amount: {in: []}}}]}]", false},
		{"end without a time", "agents: [{id: Carol, caps: [{with: w/, can: crud, until: 2026-12-31}]}]", false},
		{"ask as text", "agents: [{id: Carol, caps: [{with: w/, can: crud, ask: 'yes'}]}]", false},
		{"caps as text", "agents: [{id: Carol, caps: none}]", false},
		{"no id", "agents: [{prompt: Hello.}]", false},
		{"prompt twice", "agents: [{id: Carol, prompt: a, prompt_file: b}]", false},
		{"context of both", "agents: [{id: Carol, context: [{path: w/x, text: y}]}]", false},
		{"budget of nothing", "agents: [{id: Carol, budgets: {run: {}}}]", false},
		{"budget of a year", "agents: [{id: Carol, budgets: {year: {calls: 1}}}]", false},
		{"misspelt limit", "agents: [{id: Carol, budgets: {run: {call: 1}}}]", false},
		{"half a call", "agents: [{id: Carol, budgets: {run: {calls: 1.5}}}]", false},
		{"no money", "agents: [{id: Carol, budgets: {run: {money: 0}}}]", false},
		{"money as text", "agents: [{id: Carol, budgets: {run: {money: '0.50'}}}]", false},
		{"count", "limits: {model_calls: 0}", false},
		{"data without value", "data: [{path: w/x}]", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := s.Validate(t.Context(), asJSON(t, tt.yaml), nil); (err == nil) != tt.ok {
				t.Errorf("schema: %v, want ok %v", err, tt.ok)
			}
			if _, err := Parse("usher.yaml", []byte(tt.yaml)); (err == nil) != tt.ok {
				t.Errorf("Parse: %v, want ok %v", err, tt.ok)
			}
		})
	}
}

func TestSchemaTakesTheExample(t *testing.T) {
	s, err := schema.Compile(t.Context(), Schema(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"usher.yaml", "agents.yaml", "pipeline.yml"} {
		data, err := readFile(testdata, "example/"+name)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(t.Context(), asJSON(t, string(data)), nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

var testdata = os.DirFS("testdata")

func asJSON(t *testing.T, text string) json.RawMessage {
	t.Helper()
	n, err := parse(newSource("usher.yaml", text), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return n.JSON()
}
