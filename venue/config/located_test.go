package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The files that models name are those beside the configuration, wherever the
// command runs.
func TestModelsFilesAreTheConfigurations(t *testing.T) {
	dir := t.TempDir()
	text := `models: {default: {provider: openai, model: m, key: "file:key", replay: tests/run.yaml}}`
	if err := os.WriteFile(filepath.Join(dir, "usher.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Join(dir, "usher.yaml")} {
		c, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"model": "m", "key": "file:" + filepath.Join(dir, "key"), "replay": filepath.Join(dir, "tests", "run.yaml")}
		if diff := cmp.Diff(want, c.Models["default"].Settings); diff != "" {
			t.Errorf("Load(%s) (-want +got):\n%s", path, diff)
		}
	}
	c, err := Parse("usher.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Models["default"].Settings["replay"]; got != "tests/run.yaml" {
		t.Errorf("of a configuration from memory: %v", got)
	}
}
