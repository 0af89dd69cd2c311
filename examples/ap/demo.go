package ap

import (
	"context"
	"errors"
	"fmt"
	"io"

	"usher/runtime"
	"usher/venue"
	"usher/venue/cli"
	"usher/venue/config"
)

// ErrUnexpected: something in the demo came out otherwise than it must.
var ErrUnexpected = errors.New("the demo did not come out as it must")

// Demo runs the department: its own invoices and attempts, or the one invoice
// of opts. It prints what came of it, and returns [ErrUnexpected] where the gate
// did not hold, or where the department's own programs come to another outcome
// than the policy.
//
// With a model of the user's behind the agents, an outcome that is not the
// policy's is that model's judgement: it is reported, and the error is
// [ErrJudgement]. Where that model fails as such the demo stops, prints what was
// done until then, and returns an [ErrModel]. The attempts stay the programs' in
// any case.
func Demo(ctx context.Context, opts cli.DemoOptions) error {
	cfg, err := Config()
	if err != nil {
		return err
	}
	return demo(ctx, cfg, opts)
}

func demo(ctx context.Context, cfg *config.Config, opts cli.DemoOptions) (err error) {
	h := &house{dir: opts.Dir, notes: io.Discard}
	if opts.Notes != nil && opts.OpenModel != nil {
		h.notes = opts.Notes
	}
	var models map[string]runtime.Model
	if opts.OpenModel != nil {
		m, err := opts.OpenModel(ctx)
		if err != nil {
			return err
		}
		h.plugged, models = plug(cfg, opts.Model, m, h.notes)
	}
	h.v, err = venue.Open(ctx, &venue.Options{Dir: opts.Dir, Config: cfg, Models: models, Providers: Providers(), Telemetry: opts.Telemetry})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.v.Close()) }()
	if h.user, err = h.v.User(ctx, cfg.User); err != nil {
		return err
	}
	for _, a := range cfg.Agents {
		h.agents = append(h.agents, a.ID)
	}
	r, err := h.run(ctx, opts)
	if err != nil {
		return err
	}
	if err := r.print(opts); err != nil {
		return err
	}
	if len(r.Unexpected) > 0 {
		return fmt.Errorf("%w: %s", ErrUnexpected, r.Unexpected[0])
	}
	if r.Failure != nil {
		return r.Failure
	}
	if r.Judgement != nil {
		return r.Judgement.failed()
	}
	return nil
}

// house is the department at work.
type house struct {
	v       *venue.Venue
	user    *venue.User
	dir     string
	agents  []string
	at      string    // what it is at, for people
	plugged *plugged  // nil where the programs do the work
	notes   io.Writer // what happens while a model takes its time
}

func (h *house) run(ctx context.Context, opts cli.DemoOptions) (*report, error) {
	r := &report{Unexpected: []string{}}
	if h.plugged != nil {
		r.Judgement = &judgement{Model: h.plugged.name, Invoices: []judged{}, Problems: []string{}, Denied: []refusal{}}
	}
	var err error
	if r.Agents, err = h.mandates(ctx); err != nil {
		return nil, err
	}
	err = h.guarded(ctx, r, func() (err error) {
		if opts.Invoice != nil {
			err = h.one(ctx, r, opts.Invoice, opts.InvoiceName)
		} else {
			err = h.all(ctx, r)
		}
		if f, ok := errors.AsType[*failure](err); ok && ctx.Err() == nil {
			stopped := *f // agents hold the other one
			stopped.At, r.Failure = h.at, &stopped
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	r.Audit, err = h.audit(ctx, r)
	if err != nil {
		r.unexpected("the audit ledger: %v", err)
	}
	if got, want := r.Audit.denied(), r.count(denied); got < want {
		r.unexpected("the audit ledger has %d denials, the agents met %d", got, want)
	}
	if r.Judgement != nil {
		r.Judgement.Usage = h.plugged.used()
	}
	return r, nil
}

// one processes an invoice that somebody else wrote.
func (h *house) one(ctx context.Context, r *report, in io.Reader, name string) error {
	if h.at = name; name == "-" {
		h.at = "standard input"
	}
	text, err := readText(in)
	if err != nil {
		return &failure{Words: err.Error(), err: err}
	}
	fmt.Fprintf(h.notes, "invoice %s …\n", h.at)
	p, err := h.process(ctx, text)
	if f := h.plugged.failed(); f != nil {
		return f
	}
	if err != nil {
		return &failure{Words: err.Error(), err: err}
	}
	if r.Judgement != nil && p.Decision.Recorded && !h.stored(ctx, p) {
		r.Judgement.problem("the decision was said to be recorded, and is not")
	}
	r.Invoice = p
	return nil
}

// all is the whole demo.
func (h *house) all(ctx context.Context, r *report) error {
	if err := h.fresh(ctx); err != nil {
		return err
	}
	for _, s := range shows {
		p, err := h.own(ctx, r, s)
		if err != nil {
			return err
		}
		r.Invoices = append(r.Invoices, p)
	}
	var err error
	if r.Repeated, err = h.own(ctx, r, repeated); err != nil {
		return err
	}
	if err := h.summary(ctx, r); err != nil {
		return err
	}
	return h.probe(ctx, r)
}

// summary has the manager report on the day.
func (h *house) summary(ctx context.Context, r *report) (err error) {
	h.at = "the report of the day"
	fmt.Fprintln(h.notes, "Dave reports …")
	r.Summary, err = h.say(ctx, "Dave", "Report on today's decisions.")
	if f := h.plugged.failed(); f != nil {
		return f
	}
	if err != nil && r.Judgement != nil && ctx.Err() == nil {
		r.Judgement.problem("Dave came to no report: %v", err)
		return nil
	}
	return err
}

// fresh refuses a data folder in which the demo's invoices would be repeated ones.
func (h *house) fresh(ctx context.Context) error {
	var list struct{ Count int }
	if err := h.get(ctx, &list, "covia:list", object{"path": "w/invoices"}); err != nil {
		return err
	}
	if list.Count > 0 {
		return fmt.Errorf("%s holds %d invoices of an earlier run, which the demo's would repeat: give an empty folder, or one invoice with --invoice", h.dir, list.Count)
	}
	return nil
}

// own processes one of the demo's own invoices. That a model comes to no
// decision is an outcome too, and the next invoice may fare better.
func (h *house) own(ctx context.Context, r *report, s show) (*processed, error) {
	invoice, err := text(s.file)
	if err != nil {
		return nil, err
	}
	h.at = "invoice " + s.file
	fmt.Fprintf(h.notes, "%s …\n", h.at)
	p, err := h.process(ctx, invoice)
	if f := h.plugged.failed(); f != nil {
		return nil, f
	}
	switch {
	case err != nil && (r.Judgement == nil || ctx.Err() != nil):
		return nil, fmt.Errorf("invoice %s: %w", s.file, err)
	case err != nil:
		p = &processed{Problem: err.Error()}
	}
	p.File = s.file
	h.judge(ctx, r, s, p)
	return p, nil
}
