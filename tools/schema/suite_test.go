package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOfficialSuite runs the JSON Schema test suite, as the module that infers
// schemas ships it with its source.
func TestOfficialSuite(t *testing.T) {
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/jsonschema-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for draft, header := range map[string]string{"draft2020-12": "https://json-schema.org/draft/2020-12/schema", "draft7": "http://json-schema.org/draft-07/schema#"} {
		files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "jsonschema", "testdata", draft, "*.json"))
		if err != nil || len(files) < 20 {
			t.Fatalf("%d files of the suite for %s (%v)", len(files), draft, err)
		}
		for _, file := range files {
			ran += suite(t, file, header)
		}
	}
	if ran < 1500 {
		t.Errorf("%d cases ran, want at least 1500", ran)
	}
}

func suite(t *testing.T, file, header string) (ran int) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var groups []struct {
		Description string
		Schema      json.RawMessage
		Tests       []struct {
			Description string
			Data        json.RawMessage
			Valid       bool
		}
	}
	if err := json.Unmarshal(raw, &groups); err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		s, err := Compile(t.Context(), withDraft(g.Schema, header), nil)
		if err != nil {
			// What lies outside, and what leads to different places, is refused.
			outside := strings.Contains(err.Error(), "which is not part of it") && bytes.Contains(g.Schema, []byte("http"))
			dynamic := strings.HasSuffix(err.Error(), "write $ref instead") && bytes.Contains(g.Schema, []byte("$dynamicRef"))
			if !outside && !dynamic {
				t.Errorf("%s: %s: %v", filepath.Base(file), g.Description, err)
			}
			continue
		}
		for _, tt := range g.Tests {
			ran++
			err := s.Validate(t.Context(), tt.Data, nil)
			var misfit *Error
			if err != nil && !errors.As(err, &misfit) || (err == nil) != tt.Valid {
				t.Errorf("%s: %s: %s: Validate(%s) = %v, want valid %v", filepath.Base(file), g.Description, tt.Description, tt.Data, err, tt.Valid)
			}
		}
	}
	return ran
}

// withDraft says which draft a schema is of, where it does not.
func withDraft(doc json.RawMessage, header string) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(doc, &m) != nil || m["$schema"] != nil {
		return doc
	}
	m["$schema"] = json.RawMessage(`"` + header + `"`)
	out, err := json.Marshal(m)
	if err != nil {
		return doc
	}
	return out
}
