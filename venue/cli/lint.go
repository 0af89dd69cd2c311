package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"usher/venue"
	"usher/venue/config"
	"usher/venue/models"
)

type lintCmd struct {
	onVenue
	Strict bool `help:"Fail at warnings, too, as where nobody reads them."`
}

func (*lintCmd) ofVenue() *fromConfig { return nil } // it opens none

// Run fails when a finding is an error, or where it is strict a warning; else those are for a
// person to weigh, as notes are.
func (c *lintCmd) Run(ctx context.Context, s *streams) error {
	conf, err := c.load(s)
	findings := faults(err)
	if err != nil && (len(findings) == 0 || !c.JSON) {
		return err
	}
	if err == nil {
		if findings, err = s.lint(ctx, conf); err != nil {
			return err
		}
	} else {
		err = misuse{errQuiet}
	}
	if err == nil && (hasErrors(findings) || c.Strict && hasLevel(findings, config.LevelWarning)) {
		err = errQuiet
	}
	return cmp.Or(s.answer(c.JSON, append([]config.Finding{}, findings...), s.paint.findings(findings)), err)
}

// lint finds what is wrong in a configuration that was read.
func (s *streams) lint(ctx context.Context, conf *config.Config) ([]config.Finding, error) {
	registry, err := venue.Catalogue(s.program.Tools...)
	if err != nil {
		return nil, err
	}
	providers := slices.Concat(slices.Sorted(maps.Keys(models.Providers())), slices.Sorted(maps.Keys(s.program.Providers)))
	return conf.Lint(registry, providers, models.Check(ctx, conf.Models, s.program.Providers)), nil
}

func hasErrors(findings []config.Finding) bool { return hasLevel(findings, config.LevelError) }

func hasLevel(findings []config.Finding, level string) bool {
	return slices.ContainsFunc(findings, func(f config.Finding) bool { return f.Level == level })
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

// findings are a line each, and one for their advice.
func (p paint) findings(list []config.Finding) string {
	if len(list) == 0 {
		return p.good("nothing to complain about") + "\n"
	}
	var b strings.Builder
	mark := map[string]func(string) string{config.LevelError: p.bad, config.LevelWarning: p.warn, config.LevelNote: p.dim}
	for i := range list {
		f := &list[i]
		fmt.Fprintf(&b, "%s: %s: %s: %s\n", p.safe(f.Place()), mark[f.Level](f.Level), p.safe(f.Subject), p.safe(f.Message))
		if f.Advice != "" {
			fmt.Fprintf(&b, "  %s\n", p.dim(p.safe(f.Advice)))
		}
	}
	return b.String()
}
