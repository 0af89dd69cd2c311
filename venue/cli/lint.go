package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"usher/venue"
	"usher/venue/config"
	"usher/venue/models"
)

type lintCmd struct {
	fromConfig
	JSON bool `name:"json" help:"Print the findings as JSON."`
}

// Run fails when a finding is an error; warnings and notes are for a person to
// weigh.
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
		err = s.printJSON(append([]config.Finding{}, findings...)) // not null
	} else {
		s.printFindings(findings)
	}
	if err == nil && failed(findings) {
		return errQuiet
	}
	return err
}

// lint finds what is wrong in a configuration that was read.
func (s *streams) lint(ctx context.Context, conf *config.Config) ([]config.Finding, error) {
	registry, err := venue.Catalogue()
	if err != nil {
		return nil, err
	}
	providers := slices.Concat(slices.Sorted(maps.Keys(models.Providers())), slices.Sorted(maps.Keys(s.program.Providers)))
	return conf.Lint(registry, providers, models.Check(ctx, conf.Models, s.program.Providers)), nil
}

func failed(findings []config.Finding) bool {
	return slices.ContainsFunc(findings, func(f config.Finding) bool { return f.Level == config.LevelError })
}

// faults are the findings of a configuration that cannot be read.
func faults(err error) (all []config.Finding) {
	for _, one := range config.Each(err) {
		if f, ok := errors.AsType[*config.Finding](one); ok {
			all = append(all, *f)
		}
	}
	return all
}

func (s *streams) printFindings(findings []config.Finding) {
	for _, f := range findings {
		mark := s.paint.dim
		switch f.Level {
		case config.LevelError:
			mark = s.paint.bad
		case config.LevelWarning:
			mark = s.paint.warn
		}
		fmt.Fprintf(s.out, "%s:%d:%d: %s: %s: %s\n", f.File, f.Line, f.Column, mark(f.Level), f.Subject, s.paint.safe(f.Message))
		if f.Advice != "" {
			fmt.Fprintf(s.out, "  %s\n", s.paint.dim(s.paint.safe(f.Advice)))
		}
	}
	if len(findings) == 0 {
		fmt.Fprintln(s.out, s.paint.good("nothing to complain about"))
	}
}
