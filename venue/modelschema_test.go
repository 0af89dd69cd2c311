package venue_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/runtime/endpoint"
	"usher/tools/schema"
	"usher/venue/config"
	"usher/venue/models"
)

// asSchemaSees is the models of a configuration as JSON.
func asSchemaSees(t *testing.T, models map[string]config.Model) json.RawMessage {
	t.Helper()
	all := make(map[string]any)
	for name, m := range models {
		entry := map[string]any{"provider": m.Provider}
		maps.Copy(entry, m.Settings)
		all[name] = entry
	}
	raw, err := json.Marshal(map[string]any{"models": all})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// What an editor says of a model by the schema is what lint says.
func TestTheSchemaOfModelsIsLint(t *testing.T) {
	s, err := schema.Compile(t.Context(), config.Schema(), nil)
	if err != nil {
		t.Fatal(err)
	}
	const openai, local, anthropic = "provider: openai, model: m, key: secret:K, ", "provider: openai, model: m, base_url: 'http://localhost:1/v1', ", "provider: anthropic, model: m, key: secret:K, "
	for _, tt := range []struct {
		model string
		ok    bool
	}{
		{"provider: offline", true},
		{openai + "temperature: 2, top_p: 0.5, max_tokens: 1, legacy_max_tokens: true, seed: -1, reasoning_effort: low, organization: o", true},
		{openai + "parallel_tool_calls: false, send_reasoning: true, output: text, stream: false, stream_usage: false, timeout: 1m30.5s", true},
		{openai + "headers: {X-Title: Usher}, allow_http: true, api_type: openai", true},
		{local + "window: 1", true},
		{"provider: openai, model: m, base_url: 'https://r.openai.azure.com', api_type: azure, api_version: '1', key: secret:K", true},
		{"provider: openai, model: m, headers: {Authorization: secret:K}", true},
		{anthropic + "thinking: 1024, max_tokens: 2000, prompt_cache: false, stream: false, timeout: 90s", true},
		{anthropic + "thinking: adaptive, base_url: 'https://host', headers: {a: b}, allow_http: false", true},
		{anthropic + "temperature: 1, top_p: 1", true},
		{"provider: offline, retry: true, cache: false", true},
		{"provider: offline, retry: {}, cache: {}", true},
		{"provider: offline, retry: {tries: 4, first: 500ms, max: 30s, max_retry_after: 1m}, cache: {max_entries: 1, ttl: 1h}", true},
		{"provider: offline, rate_limit: {per_minute: 60, burst: 5, concurrent: 4}, timeouts: {first_chunk: 1s, between: 1s, total: 1s}", true},
		{"provider: offline, price: {input: 0.25, output: 2, cache_read: 0, cache_write: 3.75}, budget: {calls: 1, tokens: 1, money: 2.50}", true},
		{"provider: offline, fallback: b", true},
		{"provider: offline, fallback: [b]", true},

		{"provider: openai, model: m", false},
		{"provider: anthropic, model: m", false},
		{"provider: openai, key: secret:K", false},
		{"provider: anthropic, key: secret:K", false},
		{"provider: openai, model: m, api_type: azure, api_version: '1', key: secret:K", false},
		{"provider: offline, x: 1", false},
		{openai + "temprature: 1", false},
		{openai + "thinking: 1024", false},
		{anthropic + "seed: 1", false},
		{"provider: openai, model: m, key: sk-literal", false},
		{"provider: openai, model: m, key: $KEY", false},
		{openai + "temperature: 2.1", false},
		{openai + "temperature: '1'", false},
		{openai + "top_p: -1", false},
		{openai + "max_tokens: 0", false},
		{openai + "seed: 1.5", false},
		{openai + "stream: 'yes'", false},
		{openai + "output: xml", false},
		{openai + "api_type: palm", false},
		{openai + "timeout: 5", false},
		{openai + "timeout: 5 minutes", false},
		{openai + "headers: {a: 1}", false},
		{openai + "headers: [a]", false},
		{openai + "base_url: localhost", false},
		{anthropic + "temperature: 1.1", false},
		{anthropic + "thinking: 1023", false},
		{anthropic + "thinking: much", false},
		{anthropic + "thinking: adaptive, temperature: 1", false},
		{"provider: offline, window: 0", false},
		{"provider: offline, retry: 3", false},
		{"provider: offline, retry: {triess: 3}", false},
		{"provider: offline, retry: {first: 5}", false},
		{"provider: offline, cache: {size: 1}", false},
		{"provider: offline, rate_limit: true", false},
		{"provider: offline, rate_limit: {}", false},
		{"provider: offline, rate_limit: {burst: 1}", false},
		{"provider: offline, timeouts: {all: 1s}", false},
		{"provider: offline, timeouts: {}", false},
		{"provider: offline, price: {input: 1}", false},
		{"provider: offline, price: {input: 1, output: -1}", false},
		{"provider: offline, price: {input: 1, output: '1e3'}", false},
		{"provider: offline, price: {input: 1, output: 1, cache: 1}", false},
		{"provider: offline, budget: {}", false},
		{"provider: offline, budget: {money: 1}", false},
		{"provider: offline, budget: {money: 0}, price: {input: 1, output: 1}", false},
		{"provider: offline, budget: {call: 1}", false},
		{"provider: offline, fallback: []", false},
		{"provider: offline, fallback: [b, b]", false},
		{"provider: offline, fallback: 1", false},
		{"provider: offline, record: a, replay: b", false},
		{"provider: offline, record: 1", false},
	} {
		entries := parse(t, "models:\n  a: {"+tt.model+"}\n  b: {provider: offline}\n").Models
		if err := s.Validate(t.Context(), asSchemaSees(t, entries), nil); (err == nil) != tt.ok {
			t.Errorf("schema of {%s}: %v, want ok %v", tt.model, err, tt.ok)
		}
		err := models.Check(t.Context(), entries, nil)("a")
		if _, missing := errors.AsType[*endpoint.AbsentError](err); missing || (err == nil) != tt.ok {
			t.Errorf("lint of {%s}: %v, want ok %v", tt.model, err, tt.ok)
		}
	}
	for _, replayed := range []string{"provider: openai, replay: tape.yaml", "provider: anthropic, replay: tape.yaml", "provider: mine, anything: [1]"} {
		models := parse(t, "models: {a: {"+replayed+"}}").Models
		if err := s.Validate(t.Context(), asSchemaSees(t, models), nil); err != nil {
			t.Errorf("schema of {%s}: %v", replayed, err)
		}
	}
}

// The schema speaks of every provider that a venue has.
func TestTheSchemaKnowsTheProviders(t *testing.T) {
	var s struct {
		Properties struct {
			Models struct {
				Each struct {
					Properties struct {
						Provider struct{ Examples []string }
					}
					AllOf []struct {
						If struct {
							Properties map[string]struct{ Const string }
						}
						Then struct{ AdditionalProperties any }
					}
				} `json:"additionalProperties"`
			}
		}
	}
	if err := json.Unmarshal(config.Schema(), &s); err != nil {
		t.Fatal(err)
	}
	each := s.Properties.Models.Each
	var closed []string
	for _, rule := range each.AllOf {
		if name := rule.If.Properties["provider"].Const; name != "" && rule.Then.AdditionalProperties == false {
			closed = append(closed, name)
		}
	}
	want := slices.Sorted(maps.Keys(models.Providers()))
	for what, got := range map[string][]string{"the examples of provider": each.Properties.Provider.Examples, "the rules": closed} {
		if diff := cmp.Diff(want, slices.Sorted(slices.Values(got))); diff != "" {
			t.Errorf("%s (-venue +schema):\n%s", what, diff)
		}
	}
}
