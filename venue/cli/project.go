package cli

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"usher/venue/config"
)

//go:embed all:project
var project embed.FS

type initCmd struct {
	Dir  string `arg:"" optional:"" default:"." help:"Folder to make the project in."`
	JSON bool   `name:"json" help:"Print the files that were written as JSON."`
}

// Run writes the project's files. It overwrites none: where one is there
// already, nothing is written.
func (c *initCmd) Run(s *streams) error {
	if at, err := os.Stat(c.Dir); err == nil && !at.IsDir() {
		return misusef("%s is a file: choose an empty folder, for example usher init my-project", c.Dir)
	}
	files, err := fs.Sub(project, "project")
	if err != nil {
		return err
	}
	var names []string
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		names = append(names, name)
		if target := filepath.Join(c.Dir, name); s.exists(target) {
			return misusef("%s is there already: choose an empty folder, for example usher init my-project", target)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := os.CopyFS(c.Dir, files); err != nil {
		return err
	}
	if c.JSON {
		return s.printJSON(map[string]any{"dir": c.Dir, "files": names})
	}
	for _, name := range names {
		fmt.Fprintln(s.out, "wrote", filepath.Join(c.Dir, name))
	}
	fmt.Fprintf(s.err, "\nNext:\n")
	if c.Dir != "." {
		fmt.Fprintf(s.err, "  cd %s\n", c.Dir)
	}
	fmt.Fprint(s.err, "  usher lint\n  usher run scribe \"write w/notes/hello Good morning\"\n  usher run reader \"read w/notes/hello\"\n  usher run scribe \"write w/rules No rules\"   # denied\n")
	return nil
}

type schemaCmd struct {
	JSON bool `name:"json" help:"Print as JSON, which is the default."`
}

func (c *schemaCmd) Run(s *streams) error { return s.printJSON(config.Schema()) }
