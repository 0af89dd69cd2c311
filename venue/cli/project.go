package cli

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"usher/venue"
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
	var names []string
	err := fs.WalkDir(project, "project", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path[len("project/"):])
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(c.Dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return misusef("%s is there already: choose an empty folder, for example usher init my-project", filepath.Join(c.Dir, name))
		}
	}
	for _, name := range names {
		raw, err := project.ReadFile("project/" + name)
		if err != nil {
			return err
		}
		target := filepath.Join(c.Dir, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, raw, 0o644); err != nil {
			return err
		}
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

type lintCmd struct {
	fromConfig
	JSON bool `name:"json" help:"Print the findings as JSON."`
}

// Run fails when there is an error among the findings; warnings and notes are
// for a person to weigh.
func (c *lintCmd) Run(ctx context.Context, s *streams) error {
	conf, err := c.load()
	if findings := faults(err); c.JSON && len(findings) > 0 {
		if err := s.printJSON(findings); err != nil {
			return err
		}
		return misuse{errQuiet}
	}
	if err != nil {
		return err
	}
	findings, err := s.lint(ctx, conf)
	if err != nil {
		return err
	}
	if c.JSON {
		if findings == nil {
			findings = []config.Finding{}
		}
		if err := s.printJSON(findings); err != nil {
			return err
		}
	} else {
		s.printFindings(findings)
	}
	if failed(findings) {
		return errQuiet
	}
	return nil
}

// lint finds what is wrong in a configuration that was read.
func (s *streams) lint(ctx context.Context, conf *config.Config) ([]config.Finding, error) {
	registry, err := venue.Catalogue()
	if err != nil {
		return nil, err
	}
	providers := slices.Concat(slices.Sorted(maps.Keys(venue.Providers())), slices.Sorted(maps.Keys(s.program.Providers)))
	return conf.Lint(registry, providers, venue.CheckModels(ctx, conf.Models, s.program.Providers)), nil
}

func failed(findings []config.Finding) bool {
	return slices.ContainsFunc(findings, func(f config.Finding) bool { return f.Level == config.LevelError })
}

// faults are what a configuration cannot be read for, as findings.
func faults(err error) []config.Finding {
	var one *config.Error
	if many, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err); ok {
		var all []config.Finding
		for _, err := range many.Unwrap() {
			all = append(all, faults(err)...)
		}
		return all
	}
	if !errors.As(err, &one) {
		return nil
	}
	return []config.Finding{{Level: config.LevelError, File: one.File, Line: one.Line, Column: one.Column, Subject: "configuration", Message: one.Message}}
}

func (s *streams) printFindings(findings []config.Finding) {
	for _, f := range findings {
		mark := s.paint.dim(f.Level)
		switch f.Level {
		case "error":
			mark = s.paint.bad(f.Level)
		case "warning":
			mark = s.paint.warn(f.Level)
		}
		fmt.Fprintf(s.out, "%s:%d:%d: %s: %s: %s\n", f.File, f.Line, f.Column, mark, f.Subject, s.paint.safe(f.Message))
		if f.Advice != "" {
			fmt.Fprintf(s.out, "  %s\n", s.paint.dim(s.paint.safe(f.Advice)))
		}
	}
	if len(findings) == 0 {
		fmt.Fprintln(s.out, s.paint.good("nothing to complain about"))
	}
}

type schemaCmd struct {
	JSON bool `name:"json" help:"Print as JSON, as it does without."`
}

func (c *schemaCmd) Run(s *streams) error { return s.printJSON(config.Schema()) }
