package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"usher/tools"
)

// TestValuesSurvive: JSON is YAML, so a value written as JSON comes out as it
// was, and one written in blocks or in brackets comes out equal.
func TestValuesSurvive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := anyValue(3).Draw(t, "value")
		want, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		for form, doc := range map[string]string{
			"JSON": `{"data":[{"path":"w/x","value":` + string(want) + `}]}`,
			"YAML": "data:\n- path: w/x\n  value:" + block(value, 2) + "\n",
			"flow": "{data: [{path: w/x, value: " + flow(value) + "}]}\n",
		} {
			c, err := Parse("usher.yaml", []byte(doc))
			if err != nil {
				t.Fatalf("Parse of %s %q: %v", form, doc, err)
			}
			var got any
			if err := json.Unmarshal(c.Data[0].Value, &got); err != nil {
				t.Fatalf("value %s: %v", c.Data[0].Value, err)
			}
			again, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(again)); diff != "" {
				t.Fatalf("from %s %q (-want +got):\n%s", form, doc, diff)
			}
		}
	})
}

// block writes a value in YAML's block style, texts in single quotes where
// these can hold them. It is what follows a colon or a dash.
func block(value any, indent int) string {
	var b strings.Builder
	begin := "\n" + strings.Repeat(" ", indent+1)
	switch v := value.(type) {
	case map[string]any:
		if len(v) == 0 {
			return " {}"
		}
		for k, item := range v {
			b.WriteString(begin + scalar(k) + ":" + block(item, indent+1))
		}
		return b.String()
	case []any:
		if len(v) == 0 {
			return " []"
		}
		for _, item := range v {
			b.WriteString(begin + "-" + block(item, indent+1))
		}
		return b.String()
	}
	return " " + scalar(value)
}

// flow writes a value in brackets.
func flow(value any) string {
	var parts []string
	switch v := value.(type) {
	case map[string]any:
		for k, item := range v {
			parts = append(parts, string(must(json.Marshal(k)))+": "+flow(item))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		for _, item := range v {
			parts = append(parts, flow(item))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return scalar(value)
}

// word is a text that needs no quotes.
var word = regexp.MustCompile(`^[bx]([:/._-]?[a-z0-9])*$`)

func scalar(value any) string {
	if s, ok := value.(string); ok && word.MatchString(s) {
		return s
	}
	if s, ok := value.(string); ok && !strings.ContainsAny(s, "\n\t") {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return string(must(json.Marshal(value)))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func anyValue(depth int) *rapid.Generator[any] {
	text := rapid.OneOf(
		rapid.StringOfN(rapid.RuneFrom([]rune("ab 1.:-#'\"\\/{}[],&*!|>%@`~\n\t_0é😀")), 0, 12, -1),
		rapid.SampledFrom([]string{"null", "true", "yes", "007", "1e5", "2024-01-05", "<<", "~", ".inf", "- a", "a: b", "", " a", "a ", "\n", "# a", "0x1f", "1_000"}),
	)
	words := rapid.StringMatching(`b([:/._-]?[a-z0-9]){0,6}`)
	scalar := rapid.OneOf(
		rapid.Map(words, func(s string) any { return s }),
		rapid.Just(any(nil)),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.Int32(), func(i int32) any { return i }),
		rapid.Map(text, func(s string) any { return s }),
	)
	if depth == 0 {
		return scalar
	}
	inner := rapid.Deferred(func() *rapid.Generator[any] { return anyValue(depth - 1) })
	return rapid.OneOf(
		scalar,
		rapid.Map(rapid.SliceOfN(inner, 0, 3), func(l []any) any { return l }),
		rapid.Map(rapid.MapOfN(rapid.OneOf(text, words), inner, 0, 3), func(m map[string]any) any { return m }),
	)
}

func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/errors/*.txtar", "testdata/lint/*.txtar"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("no seeds in %s: %v", pattern, err)
		}
		for _, file := range files {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(archive.Files[0].Data)
		}
	}
	reg := new(tools.Registry)
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("usher.yaml", data)
		if (c == nil) == (err == nil) {
			t.Fatalf("Parse = %v, %v", c, err)
		}
		if err != nil {
			checkPlace(t, err, data)
			return
		}
		for _, d := range c.Data {
			if !json.Valid(d.Value) {
				t.Errorf("value of %s is not JSON: %s", d.Path, d.Value)
			}
		}
		for _, o := range c.Orchestrations {
			if !json.Valid(o.Document) {
				t.Errorf("document of %s is not JSON: %s", o.ID, o.Document)
			}
		}
		for _, a := range c.Agents {
			if err := a.Check(); err != nil {
				t.Errorf("agent %s was taken: %v", a.ID, err)
			}
		}
		c.Lint(reg, nil, nil)
	})
}

// checkPlace: an error is at a line of the file.
func checkPlace(t *testing.T, err error, data []byte) {
	lines := bytes.Count(data, []byte("\n")) + bytes.Count(data, []byte("\r")) + 1
	var e *Finding
	if !errors.As(err, &e) || e.File != "usher.yaml" || e.Line < 0 || e.Line > lines || e.Message == "" {
		t.Errorf("error %#v: %v", e, err)
	}
}

// TestHostile: small files that ask for much work or depth are refused.
func TestHostile(t *testing.T) {
	n := 1 << 17
	if testing.Short() {
		n = 1 << 12
	}
	tests := map[string]string{
		"brackets":     strings.Repeat("[", 4*n),
		"flow maps":    strings.Repeat("{a: ", n),
		"dashes":       strings.Repeat("- ", 4*n),
		"keys":         strings.Repeat("? ", 4*n),
		"anchors":      strings.Repeat("&a ", n),
		"tags":         strings.Repeat("!!x ", n),
		"unterminated": `"` + strings.Repeat(`\"`, 2*n),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse("usher.yaml", []byte(text)); err == nil || strings.Contains(err.Error(), "MiB") {
				t.Errorf("Parse = %v", err)
			}
		})
	}
}
