package config

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"usher/runtime"
	"usher/runtime/anthropic"
	"usher/runtime/openai"
	"usher/runtime/wrap"
	"usher/tools/schema"
)

// TestSchemaKnowsTheSettings: the schema and those who make models know the same
// settings, those within settings too.
func TestSchemaKnowsTheSettings(t *testing.T) {
	defs := objects(t)
	every := append(wrap.Settings(), "provider")
	defs["model"].knows(t, "model", every)
	if defs["model"].Closed != nil {
		t.Error("the schema takes no settings of other providers")
	}
	for provider, settings := range map[string][]string{"openai": openai.Settings(), "anthropic": anthropic.Settings(), "offline": nil} {
		defs[provider].knows(t, provider, slices.Concat(every, settings))
		if defs[provider].Closed != false {
			t.Errorf("the schema takes settings that %s does not know", provider)
		}
	}
	within := 0
	for _, setting := range wrap.Settings() {
		known := settingsWithin(t, setting)
		if len(known) == 0 {
			continue
		}
		within++
		defs[setting].knows(t, setting, known)
		if defs[setting].Closed != false {
			t.Errorf("the schema takes anything within %s", setting)
		}
	}
	if within != 6 {
		t.Errorf("%d settings are mappings, want price, retry, rate_limit, timeouts, budget and cache", within)
	}
}

// settingsWithin is what may stand within a setting of any model, as the error
// about what may not lists it; none where it is no mapping.
func settingsWithin(t *testing.T, setting string) []string {
	t.Helper()
	_, err := wrap.Compose(runtime.ModelConfig{Settings: map[string]any{setting: map[string]any{"qqqqqqqqqqqq": true}}}, nil, nil)
	for _, err := range apart(errors.Unwrap(err)) {
		if _, list, ok := strings.Cut(err.Error(), ` has no setting "qqqqqqqqqqqq": its settings are `); ok {
			return strings.Split(strings.Replace(list, " and ", ", ", 1), ", ")
		}
	}
	return nil
}

// TestSchemaTakesThePages: every configuration of the documentation is one.
func TestSchemaTakesThePages(t *testing.T) {
	s, err := schema.Compile(t.Context(), Schema(), nil)
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join("..", "..")
	pages, err := filepath.Glob(filepath.Join(root, "runtime", "*", "README.md"))
	if err != nil || len(pages) < 3 {
		t.Fatalf("only the pages %q: %v", pages, err)
	}
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(raw, -1)
		if len(blocks) == 0 {
			t.Errorf("%s has no configuration", page)
		}
		for i, block := range blocks {
			if err := s.Validate(t.Context(), asJSON(t, string(block[1])), nil); err != nil {
				t.Errorf("%s, configuration %d: %v", page, i+1, err)
			}
		}
	}
}
