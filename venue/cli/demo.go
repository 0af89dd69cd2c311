package cli

import (
	"cmp"
	"context"
	"io"
	"maps"
	"slices"
	"strings"

	"usher/runtime"
	"usher/runtime/telemetry"
	"usher/tools"
	"usher/venue"
	"usher/venue/config"
)

// Demo is a demonstration that `usher demo` can run.
type Demo func(ctx context.Context, opts DemoOptions) error

// DemoOptions is what a demonstration is asked for.
type DemoOptions struct {
	Invoice     io.Reader // nil runs the demonstration's own
	InvoiceName string    // where Invoice comes from
	Dir         string    // data folder; empty is in memory
	JSON        bool
	Color       bool
	Out         io.Writer
	Notes       io.Writer         // what happens meanwhile; nil is nowhere
	Telemetry   telemetry.Options // for the venue that the demonstration opens

	// Model is what a configuration calls the model to put behind the agents,
	// and OpenModel makes it. Empty and nil leave the demonstration's own.
	Model     string
	OpenModel func(ctx context.Context) (runtime.Model, error)
}

type demoCmd struct {
	Name    string `arg:"" optional:"" default:"ap" help:"Which one: ap (accounts payable) or delegation (chains of authority)."`
	Invoice string `placeholder:"FILE|-" help:"Process this invoice instead of the demonstration's own."`
	Model   string `placeholder:"NAME" help:"Put a model of your configuration behind the agents of ap. The exit status is then 0 where the gate held and the model came to the policy's outcomes."`
	Config  string `short:"c" placeholder:"FILE" help:"Configuration that has the model: a file, or a folder of them (default: usher.yaml)."`
	Data    string `placeholder:"DIR" help:"Keep the data there; otherwise nothing is kept."`
	JSON    bool   `name:"json" help:"Print the same as data."`
}

func (c *demoCmd) Run(ctx context.Context, s *streams) error {
	demo, ok := s.program.Demos[c.Name]
	if !ok {
		names := slices.Sorted(maps.Keys(s.program.Demos))
		return misusef("there is no demo %q; there are: %s", c.Name, strings.Join(names, ", "))
	}
	if c.Config != "" && c.Model == "" {
		return misusef("the demo takes from %s only the model that --model names: add --model NAME, or leave -c out", c.Config)
	}
	opts := DemoOptions{Dir: c.Data, JSON: c.JSON, Color: s.paint.on, Out: s.out, Notes: s.err}
	if c.Model != "" {
		opts.Model, opts.OpenModel = c.Model, func(ctx context.Context) (runtime.Model, error) { return c.open(ctx, s) }
	}
	if c.Invoice != "" {
		in, err := s.source(c.Invoice)
		if err != nil {
			return err
		}
		defer in.Close()
		opts.Invoice, opts.InvoiceName = in, c.Invoice
	}
	defer s.observe(ctx)()
	opts.Telemetry = s.telemetry
	return demo(ctx, opts)
}

// open makes the model that the configuration calls c.Model. Demonstrations
// ask for it, so that one that takes none says so first.
func (c *demoCmd) open(ctx context.Context, s *streams) (runtime.Model, error) {
	from := fromConfig{Config: cmp.Or(c.Config, "usher.yaml")}
	cfg, err := from.load()
	if err != nil {
		return nil, err
	}
	if _, known := cfg.Models[c.Model]; !known {
		return nil, noModel(from.Config, c.Model, cfg.Models)
	}
	return venue.Model(ctx, cfg.Models, c.Model, s.program.Providers)
}

func noModel(file, name string, models map[string]config.Model) error {
	known := slices.Sorted(maps.Keys(models))
	if len(known) == 0 {
		return misusef("%s has no models: add one below models, for example %s: {provider: openai, model: gpt-5-mini, key: env:OPENAI_API_KEY}", file, name)
	}
	near := ""
	if m := tools.Nearest(name, known); m != "" {
		near = "did you mean " + m + "? "
	}
	return misusef("%s has no model %q: %sthere are %s", file, name, near, strings.Join(known, ", "))
}
