package ap

import (
	"context"
	"errors"
	"fmt"
	"io"

	"usher/venue"
	"usher/venue/cli"
	"usher/venue/config"
)

// ErrUnexpected: something in the demo came out otherwise than it must.
var ErrUnexpected = errors.New("the demo did not come out as it must")

// Demo runs the department: its own invoices and attempts, or the one invoice
// of opts. It prints what came of it, and returns [ErrUnexpected] where an
// outcome is not the one that the policy and the capabilities demand.
func Demo(ctx context.Context, opts cli.DemoOptions) error {
	cfg, err := Config()
	if err != nil {
		return err
	}
	return demo(ctx, cfg, opts)
}

func demo(ctx context.Context, cfg *config.Config, opts cli.DemoOptions) (err error) {
	v, err := venue.Open(ctx, &venue.Options{Dir: opts.Dir, Config: cfg, Providers: Providers()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	user, err := v.User(ctx, cfg.User)
	if err != nil {
		return err
	}
	h := &house{v: v, user: user, dir: opts.Dir}
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
	return nil
}

// house is the department at work.
type house struct {
	v      *venue.Venue
	user   *venue.User
	dir    string
	agents []string
}

// show is one of the demo's own invoices and its outcome by the policy.
type show struct{ file, decision, escalateTo string }

var shows = []show{
	{"1-kestrel", escalated, "Marisol Ortega"},
	{"2-corvane", rejected, ""},
	{"3-brightwater-hosting", approved, ""},
	{"4-brightwater-consulting", escalated, "Ingrid Solheim (VP)"},
	{"5-lumenfold", rejected, ""},
}

func outcome(decision, escalateTo string) string {
	if escalateTo == "" {
		return decision
	}
	return decision + " to " + escalateTo
}

const repeated = "6-kestrel-again"

func (h *house) run(ctx context.Context, opts cli.DemoOptions) (*report, error) {
	r := &report{Unexpected: []string{}}
	var err error
	if r.Agents, err = h.mandates(ctx); err != nil {
		return nil, err
	}
	if opts.Invoice != nil {
		err = h.one(ctx, r, opts.Invoice, opts.InvoiceName)
	} else {
		err = h.all(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	r.Audit, err = h.audit(ctx)
	if err != nil {
		r.unexpected("the audit ledger: %v", err)
	}
	if got, want := r.Audit.denied(), r.count(denied); got < want {
		r.unexpected("the audit ledger has %d denials, the agents met %d", got, want)
	}
	return r, nil
}

// one processes an invoice that somebody else wrote.
func (h *house) one(ctx context.Context, r *report, in io.Reader, name string) error {
	if name == "-" {
		name = "standard input"
	}
	text, err := readText(in)
	if err != nil {
		return fmt.Errorf("read invoice %s: %w", name, err)
	}
	p, err := h.process(ctx, text)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
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
		p, err := h.own(ctx, s.file)
		if err != nil {
			return err
		}
		to := ""
		if p.Decision.EscalateTo != nil {
			to = *p.Decision.EscalateTo
		}
		if p.Decision.Decision != s.decision || to != s.escalateTo || !p.Decision.Recorded {
			r.unexpected("invoice %s came out as %s, want %s", p.Decision.Invoice, outcome(p.Decision.Decision, to), outcome(s.decision, s.escalateTo))
		}
		r.Invoices = append(r.Invoices, p)
	}
	p, err := h.own(ctx, repeated)
	if err != nil {
		return err
	}
	if p.Decision.Decision != rejected {
		r.unexpected("the repeated invoice is %s, want %s", p.Decision.Decision, rejected)
	}
	r.Repeated = p
	if r.Summary, err = h.say(ctx, "Dave", "Report on today's decisions."); err != nil {
		return err
	}
	return h.probe(ctx, r)
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

func (h *house) own(ctx context.Context, file string) (*processed, error) {
	invoice, err := text(file)
	if err != nil {
		return nil, err
	}
	p, err := h.process(ctx, invoice)
	if err != nil {
		return nil, fmt.Errorf("invoice %s: %w", file, err)
	}
	return p, nil
}
