package cli

import (
	"cmp"
	"context"
	"io"
	"maps"
	"slices"

	"usher/runtime"
	"usher/runtime/telemetry"
	"usher/venue/models"
)

// Demo is a demonstration that `usher demo` can run.
type Demo func(ctx context.Context, opts DemoOptions) error

// DemoOptions is what a demonstration is asked for.
type DemoOptions struct {
	Invoice     io.Reader // nil runs the demonstration's own
	InvoiceName string    // where Invoice comes from
	Dir         string    // data folder; empty is in memory
	JSON        bool
	Page        *Page
	Notes       io.Writer         // what happens meanwhile
	Telemetry   telemetry.Options // for the venue that the demonstration opens

	// Model is what a configuration calls the model to put behind the agents,
	// and OpenModel makes it. Empty and nil leave the demonstration's own.
	Model     string
	OpenModel func(ctx context.Context) (runtime.Model, error)
}

// RefuseFlags refuses an invoice and a model, for the demonstration of the name, which takes neither.
func (o *DemoOptions) RefuseFlags(name string) error {
	switch {
	case o.Invoice != nil:
		return misusef("the %s demo takes no invoice: leave --invoice out, or run usher demo ap", name)
	case o.Model != "":
		return misusef("the agents of the %s demo follow a script: leave --model out, or run usher demo ap --model %s", name, o.Model)
	}
	return nil
}

// Tell prints the report of a demonstration: as JSON, or as print does.
func (o *DemoOptions) Tell(report any, print func(*Page) error) error {
	if o.JSON {
		return o.Page.json(report)
	}
	return print(o.Page)
}

type demoCmd struct {
	Name    string  `arg:"" optional:"" default:"ap" help:"The demo: ap (accounts payable), delegation (chains of authority), a2a (what is lent for one task) or agentauth (an agent at another venue)."`
	Invoice *string `placeholder:"FILE|-" help:"Process this invoice instead of the built-in ones."`
	Model   *string `placeholder:"NAME" help:"Let a model of your configuration play the agents of ap. The exit status is then 0 if the gate held and the model came to the policy's outcomes."`
	Config  string  `short:"c" placeholder:"FILE" help:"Configuration of the model: a file or a folder (default: usher.yaml)."`
	Data    string  `placeholder:"DIR" help:"Data folder; without it, nothing is kept."`
	JSON    bool    `name:"json" help:"Print the report as JSON."`
}

func (c *demoCmd) Run(ctx context.Context, s *streams) error {
	demo, ok := s.program.Demos[c.Name]
	if !ok {
		return unknown("to process an invoice, name it with --invoice; there is no demo", c.Name, slices.Sorted(maps.Keys(s.program.Demos)), itself)
	}
	opts := DemoOptions{Dir: c.Data, JSON: c.JSON, Page: NewPage(s.out, s.paint.on), Notes: s.err}
	switch {
	case c.Model != nil && *c.Model == "":
		return misusef("--model names no model: give the name of one in your configuration, or leave --model out")
	case c.Model != nil:
		opts.Model, opts.OpenModel = *c.Model, func(ctx context.Context) (runtime.Model, error) { return c.open(ctx, s) }
	case c.Config != "":
		return misusef("the demo takes from %s only the model that --model names: add --model NAME, or leave -c out", c.Config)
	}
	if c.Invoice != nil {
		in, err := s.source(*c.Invoice)
		if err != nil {
			return err
		}
		defer in.Close()
		opts.Invoice, opts.InvoiceName = in, *c.Invoice
	}
	defer s.observe(ctx)()
	opts.Telemetry = s.telemetry
	return demo(ctx, opts)
}

// open makes the model that the configuration calls c.Model. Demonstrations
// ask for it, so that one that takes none says so first.
func (c *demoCmd) open(ctx context.Context, s *streams) (runtime.Model, error) {
	from := fromConfig{Config: cmp.Or(c.Config, "usher.yaml")}
	cfg, err := from.load(s)
	if err != nil {
		return nil, err
	}
	if _, known := cfg.Models[*c.Model]; !known {
		return nil, unknown(from.Config+" has no model", *c.Model, slices.Sorted(maps.Keys(cfg.Models)), itself)
	}
	return models.One(ctx, cfg.Models, *c.Model, s.program.Providers)
}
