package config

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"usher/tools/schema"
)

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
