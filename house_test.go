package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"
)

// rooms is the house from the ground up: a package imports from its own level
// only within one room, and otherwise downhill. The longest prefix names a
// package's room.
var rooms = []struct {
	level int
	paths []string
}{
	{0, []string{"usher/caps"}},
	{1, []string{"usher/ucan", "usher/prompt"}},
	{2, []string{"usher/tools"}},
	{3, []string{"usher/runtime"}},
	{4, []string{"usher/venue/store"}},
	{5, []string{"usher/venue/keys", "usher/venue/ledger", "usher/venue/accounts"}},
	{6, []string{"usher/venue/config", "usher/venue/runs", "usher/venue/clock", "usher/venue/ratelimit"}},
	{7, []string{"usher/venue/models", "usher/venue/agents", "usher/venue/apply", "usher/venue/retention", "usher/venue/schedules", "usher/venue/auth", "usher/venue/replies", "usher/venue/lending", "usher/venue/webhooks"}},
	{8, []string{"usher/venue"}},
	{9, []string{"usher/venue/face"}},
	{10, []string{"usher/venue/rest", "usher/venue/login", "usher/venue/mcp", "usher/venue/agentauth", "usher/venue/a2a", "usher/venue/agui", "usher/venue/completions", "usher/venue/hooks"}},
	{11, []string{"usher/venue/server"}},
	{12, []string{"usher/venue/cli"}},
	{13, []string{"usher", "usher/examples"}},
}

// only says which package alone may import a module: the one that hides it.
var only = map[string]string{
	"github.com/ucan-wg/go-ucan":           "usher/ucan",
	"github.com/dgraph-io/badger":          "usher/venue/store/badger",
	"github.com/sashabaranov/go-openai":    "usher/runtime/openai",
	"github.com/ipld":                      "usher/ucan",
	"github.com/MetaMask":                  "usher/ucan",
	"github.com/multiformats/go-multibase": "usher/ucan",
	"github.com/robfig/cron":               "usher/tools/scheduler",
	"github.com/go-webauthn":               "usher/venue/passkey",
	"go.opentelemetry.io/otel/sdk":         "usher/venue/cli",
	"go.opentelemetry.io/otel/exporters":   "usher/venue/cli",
}

func TestImportsRunDownhill(t *testing.T) {
	seen := 0
	eachImport(t, func(file, importer, imported string) {
		if !within(imported, "usher") {
			return
		}
		seen++
		from, to := room(importer), room(imported)
		if from.level < to.level {
			t.Errorf("%s imports %s: uphill, from level %d to %d", file, imported, from.level, to.level)
		}
		if from.level == to.level && from.path != to.path && importer != "usher" {
			t.Errorf("%s imports %s: across two rooms of level %d", file, imported, to.level)
		}
	})
	if seen == 0 {
		t.Fatal("found no imports within the module: the test looks in the wrong place")
	}
}

func TestVendorsStayBehindOnePackage(t *testing.T) {
	eachImport(t, func(file, importer, imported string) {
		for module, owner := range only {
			if within(imported, module) && !within(importer, owner) {
				t.Errorf("%s imports %s: only %s may", file, imported, owner)
			}
		}
		if within(importer, "usher/caps") && !within(imported, "usher/caps") && !within(imported, "golang.org/x/text") && strings.Contains(strings.SplitN(imported, "/", 2)[0], ".") {
			t.Errorf("%s imports %s: caps imports the standard library and x/text alone", file, imported)
		}
	})
}

// TestTopLevel keeps the architecture visible in the folder list.
func TestTopLevel(t *testing.T) {
	allowed := map[string]bool{
		"caps": true, "ucan": true, "prompt": true, "tools": true, "runtime": true, "venue": true, "examples": true,
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !allowed[e.Name()] {
			t.Errorf("folder %s stands at the top level", e.Name())
		}
	}
}

type place struct {
	level int
	path  string
}

func room(importPath string) place {
	best := place{level: -1}
	for _, r := range rooms {
		for _, p := range r.paths {
			if within(importPath, p) && len(p) > len(best.path) {
				best = place{r.level, p}
			}
		}
	}
	return best
}

func within(importPath, parent string) bool {
	return importPath == parent || strings.HasPrefix(importPath, parent+"/")
}

// eachImport calls fn for every import of every file that is not a test.
func eachImport(t *testing.T, fn func(file, importer, imported string)) {
	t.Helper()
	eachFile(t, parser.ImportsOnly, func(name string, f *ast.File) {
		for _, spec := range f.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			fn(name, path.Join("usher", path.Dir(name)), imported)
		}
	})
}

// eachFile calls fn for every file that is not a test.
func eachFile(t *testing.T, mode parser.Mode, fn func(name string, f *ast.File)) {
	t.Helper()
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, mode)
		if err == nil {
			fn(name, f)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
