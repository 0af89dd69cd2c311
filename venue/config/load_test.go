package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"usher/caps"
	"usher/tools/agents"
	"usher/tools/spend"
)

var example = &Config{
	Name: "acme-ap", User: "acme", Store: ".usher",
	Models: map[string]Model{
		"default": {Provider: "offline", Settings: map[string]any{
			"price": map[string]any{"input": json.Number("2.50"), "output": json.Number("10")},
		}},
		"fast": {Provider: "openai", Settings: map[string]any{
			"model": "gpt-5-mini", "base_url": "http://localhost:8080/v1", "key": "env:OPENAI_API_KEY", "retry": map[string]any{"tries": json.Number("3")},
		}},
	},
	Data: []Datum{
		{"w/docs/policy", json.RawMessage(`"Pay on Fridays.\nNever twice.\n"`)},
		{"w/orders", json.RawMessage(`{"PO-1":{"total":15600.00}}`)},
		{"w/vendors", json.RawMessage(`{"acme":{"name":"Acme\nLtd\n","country":"NO","active":true}}`)},
		{"w/vendor-records/acme", json.RawMessage(`{"name":"Acme","status":"ACTIVE","since":"2024-01-05","limit":20000.50,"id":123456789012345678901234567890}`)},
	},
	Agents: []agents.Spec{
		{
			ID: "Alice", Description: "Reads invoices.", Model: "fast", Prompt: "You extract the fields of an invoice.",
			Output: json.RawMessage(`{"type":"object","properties":{"number":{"type":"string"}},"required":["number"]}`),
			Caps:   caps.Declare(caps.Of()),
		},
		{
			ID: "Carol", Description: "Approves payments.", Prompt: "You approve payments by the policy.",
			Tools: []string{"covia:read", "covia:write", "o/ap-pipeline", "json:*"},
			Context: []agents.ContextEntry{
				{Path: "w/docs/policy", Label: "Policy", Required: true},
				{Text: "Payments run on Fridays.", Label: "Note"},
			},
			Output:    json.RawMessage(`{"type":"object","properties":{"number":{"type":"string"}},"required":["number"]}`),
			Authority: agents.AuthorityOwn,
			Caps: caps.Declare(caps.Of(
				caps.MustCapability("w/", "crud/read"), caps.MustCapability("w/decisions/", "crud"),
				caps.MustCapability("o/ap-pipeline", "invoke"), caps.MustCapability("g/Alice", "agent/request"),
			)),
			Budgets: &agents.Budgets{
				Run:     spend.Limits{Calls: 20, Money: 500_000},
				Session: spend.Limits{Money: 2_000_000},
				Agent:   spend.Limits{Tokens: 1_000_000},
			},
		},
		{ID: "Clerk", Tools: []string{"covia:read"}, Parent: "Carol"},
	},
	Orchestrations: []Orchestration{{"ap-pipeline", json.RawMessage(`{"name":"ap-pipeline","description":"Reads an invoice.","type":"orchestration",` +
		`"operation":{"adapter":"orchestrator","input":{"type":"object","required":["text"]},"steps":[` +
		`{"name":"scan","op":"agent:request","input":{"agentId":"Alice","input":{"text":["input","text"]}}},` +
		`{"name":"store","op":"covia:write","strict":false,"after":[0],"input":{"path":"w/decisions/x","value":[0,"output"]}}],` +
		`"result":{"extraction":[0,"output"]}}}`)}},
	Retention: Retention{Sessions: KeepLimit{Age: 2160 * time.Hour, Number: 1000}, Rows: KeepLimit{Number: 1_000_000}, Journal: 336 * time.Hour},
	Limits:    Limits{ModelCalls: 10, ToolTimeout: 90 * time.Second, ToolResult: 64 << 10, ToolsAtOnce: 4, OutputTries: 2, CallDepth: 8},
}

var compared = cmp.Options{
	cmpopts.IgnoreUnexported(Config{}),
	cmp.Comparer(func(a, b caps.Declaration) bool {
		x, okX := a.Set()
		y, okY := b.Set()
		return a.Present() == b.Present() && a.IsNull() == b.IsNull() && okX == okY && x.String() == y.String()
	}),
	cmp.Transformer("text", func(m json.RawMessage) string { return string(m) }),
}

func TestLoadFolder(t *testing.T) {
	want := *example
	dir := filepath.Join("testdata", "example")
	var err error
	if want.Dir, err = filepath.Abs(dir); err != nil {
		t.Fatal(err)
	}
	got, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, got, compared); diff != "" {
		t.Errorf("Load (-want +got):\n%s", diff)
	}
	if store := got.StoreDir(); store != filepath.Join(want.Dir, ".usher") {
		t.Errorf("StoreDir() = %q", store)
	}
	for _, f := range got.Lint(registry(t), []string{"offline", "openai"}, nil) {
		t.Errorf("Lint: %v", f)
	}

	want.Dir = "."
	if got, err = LoadFS(os.DirFS(dir), "."); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, got, compared); diff != "" {
		t.Errorf("LoadFS (-want +got):\n%s", diff)
	}
}

func TestLoadFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "usher.yaml", "agents: [{id: Carol, prompt_file: carol.md, caps: []}]\nstore: memory\n")
	write(t, dir, "carol.md", "You are Carol.\n")
	write(t, dir, "other.yaml", "not: [a configuration\n")
	c, err := Load(filepath.Join(dir, "usher.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Name != filepath.Base(dir) || c.User != "owner" || c.StoreDir() != "" || c.Dir != dir || c.Agents[0].Prompt != "You are Carol." {
		t.Errorf("Load = %+v", c)
	}
}

func TestLoadNamesFilesAsGiven(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "usher.yaml", "nmae: x\n")
	t.Chdir(filepath.Dir(dir))
	_, err := Load(filepath.Join(filepath.Base(dir), "usher.yaml"))
	var e *Finding
	if !errors.As(err, &e) || e.File != filepath.Join(filepath.Base(dir), "usher.yaml") || e.Line != 1 || e.Column != 1 {
		t.Errorf("Load = %#v", err)
	}
}

func TestLoadRefuses(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret.md")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		make func(t *testing.T, dir string)
		want string
	}{
		{"empty folder", func(*testing.T, string) {}, "has no *.yaml file"},
		{"link out of the folder", func(t *testing.T, dir string) {
			write(t, dir, "usher.yaml", "agents: [{id: Carol, prompt_file: carol.md}]\n")
			if err := os.Symlink(outside, filepath.Join(dir, "carol.md")); err != nil {
				t.Fatal(err)
			}
		}, "file carol.md: cannot read the file"},
		{"not UTF-8", func(t *testing.T, dir string) { write(t, dir, "usher.yaml", "user: ü\nname: ü\xff\n") }, "usher.yaml:2:8: the file is not UTF-8"},
		{"control character", func(t *testing.T, dir string) { write(t, dir, "usher.yaml", "user: u\nname: \x1bu\n") }, "usher.yaml:2:7: a control character cannot stand here"},
		{"prompt not UTF-8", func(t *testing.T, dir string) {
			write(t, dir, "usher.yaml", "agents: [{id: Carol, prompt_file: carol.md}]\n")
			write(t, dir, "carol.md", "\xff")
		}, "not UTF-8"},
		{"too large", func(t *testing.T, dir string) {
			write(t, dir, "usher.yaml", "# "+strings.Repeat("x", maxSourceBytes))
		}, "above 1 MiB"},
		{"prompt too large", func(t *testing.T, dir string) {
			write(t, dir, "usher.yaml", "agents: [{id: Carol, prompt_file: carol.md}]\n")
			write(t, dir, "carol.md", strings.Repeat("x", maxFileBytes+1))
		}, "above 4 MiB"},
		{"prompt file is a folder", func(t *testing.T, dir string) {
			write(t, dir, "usher.yaml", "agents: [{id: Carol, prompt_file: docs}]\n")
			if err := os.Mkdir(filepath.Join(dir, "docs"), 0o700); err != nil {
				t.Fatal(err)
			}
		}, "file docs: cannot read the file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			tt.make(t, dir)
			c, err := Load(dir)
			if c != nil || err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("Load = %v, %v, want an error with %q", c, err, tt.want)
			}
		})
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.yaml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Load of a missing file = %v", err)
	}
}

func TestParse(t *testing.T) {
	c, err := Parse("house.yaml", []byte("\ufeff%YAML 1.2\n# comment\n---\nuser: acme\r\nlimits: {tool_result: 500}\r\n"))
	if err != nil || c.Name != "house" || c.User != "acme" || c.Limits.ToolResult != 500 || c.Dir != "" {
		t.Errorf("Parse = %+v, %v", c, err)
	}
	for _, empty := range []string{"", "# nothing\n", "---\n"} {
		if c, err := Parse("", []byte(empty)); err != nil || c.Name != "usher" || c.Store != ".usher" {
			t.Errorf("Parse(%q) = %+v, %v", empty, c, err)
		}
	}
	_, err = Parse("usher.yaml", []byte("agents: [{id: Carol, prompt_file: carol.md}]\n"))
	if err == nil || !strings.Contains(err.Error(), "did not come from a folder") {
		t.Errorf("Parse with a prompt_file = %v", err)
	}
}

// TestCaps: what is left out, null and a list are three things.
func TestCaps(t *testing.T) {
	tests := []struct {
		name, yaml    string
		present, null bool
		set           string
	}{
		{"absent", "", false, false, ""},
		{"nothing written", "\n    caps:", true, true, ""},
		{"null", "\n    caps: null", true, true, ""},
		{"tilde", "\n    caps: ~", true, true, ""},
		{"empty", "\n    caps: []", true, false, "(none)"},
		{"list", "\n    caps: [{with: w/, can: crud}, {can: '*', with: ''}]", true, false, "crud on w/, * on (any)"},
		{"block", "\n    caps:\n    - with: w/\n      can: crud/read", true, false, "crud/read on w/"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Parse("usher.yaml", []byte("agents:\n  - id: Carol"+tt.yaml+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			d := c.Agents[0].Caps
			set, listed := d.Set()
			if d.Present() != tt.present || d.IsNull() != tt.null || listed != (tt.set != "") || listed && set.String() != tt.set {
				t.Errorf("caps = present %v, null %v, %v %v", d.Present(), d.IsNull(), set, listed)
			}
		})
	}
}

func TestModelKeepsItsSettingsOutOfLogs(t *testing.T) {
	var b strings.Builder
	m := Model{Provider: "openai", Settings: map[string]any{"key": "sk-secret"}}
	slog.New(slog.NewTextHandler(&b, nil)).Info("model", "model", m)
	if strings.Contains(b.String(), "sk-") || !strings.Contains(b.String(), "openai") {
		t.Errorf("logged %s", &b)
	}
}

func TestTooManyErrors(t *testing.T) {
	var b strings.Builder
	for i := range maxFaults + 5 {
		fmt.Fprintf(&b, "key%d: 1\n", i)
	}
	_, err := LoadFS(fstest.MapFS{"usher.yaml": {Data: []byte(b.String())}}, "usher.yaml")
	if err == nil || strings.Count(err.Error(), "unknown key") != maxFaults || !strings.HasSuffix(err.Error(), "and 5 more errors") {
		t.Errorf("LoadFS = %v", err)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
