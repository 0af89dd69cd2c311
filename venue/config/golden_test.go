package config

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"usher/tools"
	"usher/tools/agents"
	"usher/tools/delegation"
	"usher/tools/grid"
	"usher/tools/jsonop"
	"usher/tools/workspace"
)

var update = flag.Bool("update", false, "write the golden texts anew")

// golden runs every case in a folder: an archive of a configuration and the
// text that comes of it.
func golden(t *testing.T, folder, want string, run func(t *testing.T, fsys fstest.MapFS, name string) string) {
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in %s: %v", folder, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			fsys, expected := fstest.MapFS{}, ""
			kept := archive.Files[:0]
			for _, f := range archive.Files {
				if f.Name == want {
					expected = string(f.Data)
					continue
				}
				fsys[f.Name] = &fstest.MapFile{Data: f.Data}
				kept = append(kept, f)
			}
			name := "."
			if fsys["usher.yaml"] != nil {
				name = "usher.yaml"
			}
			got := run(t, fsys, name)
			if *update {
				archive.Files = append(kept, txtar.File{Name: want, Data: []byte(got)})
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(expected, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	golden(t, "errors", "error", func(t *testing.T, fsys fstest.MapFS, name string) string {
		c, err := LoadFS(fsys, name)
		if err == nil {
			t.Fatal("LoadFS took it")
		}
		if c != nil {
			t.Error("LoadFS returned a configuration beside the error")
		}
		if strings.Contains(err.Error(), "sk-") {
			t.Errorf("the error shows a secret: %v", err)
		}
		return err.Error() + "\n"
	})
}

func TestLint(t *testing.T) {
	golden(t, "lint", "findings", func(t *testing.T, fsys fstest.MapFS, name string) string {
		c, err := LoadFS(fsys, name)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, f := range c.Lint(registry(t), []string{"offline", "openai"}, nil) {
			b.WriteString(f.String() + "\n")
		}
		if strings.Contains(b.String(), "sk-") {
			t.Errorf("a finding shows a secret: %s", &b)
		}
		return b.String()
	})
}

// registry has the operations of a venue; lint runs none of them.
func registry(t *testing.T) *tools.Registry {
	reg := new(tools.Registry)
	for _, ops := range [][]*tools.Operation{
		workspace.Operations(nil), agents.Operations(struct{ agents.Service }{}), grid.Operations(struct{ grid.Jobs }{}), jsonop.Operations(), delegation.Operations(nil),
	} {
		if err := reg.Register(ops...); err != nil {
			t.Fatal(err)
		}
	}
	return reg
}
