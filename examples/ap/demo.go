package ap

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"usher/runtime"
	"usher/runtime/offline"
	"usher/venue"
	"usher/venue/cli"
	"usher/venue/config"
)

//go:embed usher.yaml policy.md attempts.yaml invoices
var files embed.FS

var (
	// errUnexpected: the gate did not hold, or a program came to another outcome
	// than the policy.
	errUnexpected = errors.New("the demo did not come out as it must")
	// errJudgement: the gate held, but the model that was plugged in did not do the
	// department's work as the policy demands.
	errJudgement = errors.New("the gate held, but the model did not do all of the work as the policy demands")
	// errModel: the model that was plugged in cannot be had. This says nothing about
	// how it judges.
	errModel = errors.New("the demo stopped, as its model failed")
)

// Demo runs the department: its own invoices and attempts, or the one invoice
// of opts. It prints what came of it, and returns an error where the gate did not
// hold, or where an outcome is not the policy's. Where a model of the user's fails
// as such, the demo stops, and prints what was done until then. The attempts are
// scripted in any case.
func Demo(ctx context.Context, opts cli.DemoOptions) error {
	cfg, err := config.LoadFS(files, "usher.yaml")
	if err != nil {
		return err
	}
	return demo(ctx, cfg, opts)
}

func demo(ctx context.Context, cfg *config.Config, opts cli.DemoOptions) (err error) {
	h := &house{notes: io.Discard}
	models := make(map[string]runtime.Model)
	if opts.OpenModel != nil {
		m, err := opts.OpenModel(ctx)
		if err != nil {
			return err
		}
		h.notes, h.plugged, h.Judgement = opts.Notes, &guestModel{Model: m}, &judgement{Model: opts.Model, Invoices: []judgment{}}
		for name, m := range cfg.Models {
			if m.Provider != offline.Name {
				models[name] = follower{h.plugged}
			}
		}
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
		h.Agents = append(h.Agents, mandate{Agent: a.ID, Description: a.Description})
	}
	work := h.all
	if opts.Invoice != nil {
		work = func(ctx context.Context) error { return h.one(ctx, opts.Invoice, opts.InvoiceName) }
	} else if err := h.fresh(ctx, opts.Dir); err != nil {
		return err
	}
	if err := h.run(ctx, work); err != nil {
		return err
	}
	err = opts.Tell(h.report, func(page *cli.Page) error { return h.print(page, opts.Invoice == nil) })
	return errors.Join(err, h.verdict())
}

// fresh refuses a data folder in which the demo's invoices would be repeated ones.
func (h *house) fresh(ctx context.Context, dir string) error {
	var list struct{ Count int }
	if err := h.get(ctx, &list, "covia:list", object{"path": "w/invoices"}); err != nil || list.Count == 0 {
		return err
	}
	return fmt.Errorf("%s holds %d invoices of an earlier run, which the demo's would repeat: give an empty folder, or one invoice with --invoice", dir, list.Count)
}

// maxInvoice bounds the text of an invoice, in bytes.
const maxInvoice = 64 << 10

// one processes an invoice that somebody else wrote.
func (h *house) one(ctx context.Context, in io.Reader, name string) error {
	if h.at = name; name == "-" {
		h.at = "standard input"
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxInvoice+1))
	text := string(raw)
	switch {
	case err != nil:
		return err
	case len(raw) > maxInvoice:
		return fmt.Errorf("it has more than %d bytes: give the text of one invoice", maxInvoice)
	case strings.ContainsRune(text, 0) || !utf8.ValidString(text):
		return errors.New("it is not plain text: give the invoice as text in UTF-8")
	}
	fmt.Fprintf(h.notes, "invoice %s …\n", h.at)
	h.Invoice, err = h.process(ctx, text)
	if err == nil && h.Judgement != nil && h.Invoice.Decision.Recorded && !h.isStored(ctx, h.Invoice) {
		h.Judgement.Problems = append(h.Judgement.Problems, "the decision was said to be recorded, and is not")
	}
	return err
}

// show is one of the demo's own invoices, what it asks for and what must come
// of it by the policy.
type show struct {
	file, total, decision, escalateTo string
}

var shows = []show{
	{"1-kestrel.txt", "15600.00", escalated, "Marisol Ortega"},
	{"2-corvane.txt", "6500.00", rejected, ""},
	{"3-brightwater-hosting.txt", "800.00", approved, ""},
	{"4-brightwater-consulting.json", "75500.00", escalated, "Ingrid Solheim"},
	{"5-lumenfold.txt", "12000.00", rejected, ""},
	{"6-kestrel-again.txt", "15600.00", rejected, ""},
}

// all is the whole demo: invoices, the report of the day, and the attempts.
func (h *house) all(ctx context.Context) error {
	for _, s := range shows {
		h.at = "invoice " + s.file
		fmt.Fprintf(h.notes, "%s …\n", h.at)
		text, err := files.ReadFile("invoices/" + s.file)
		if err != nil {
			return err
		}
		p, err := h.process(ctx, string(text))
		if err != nil && h.stops(ctx) {
			return err
		}
		if err != nil { // an outcome too, and the next one may fare better
			p = &result{Problem: err.Error()}
		}
		p.File = s.file
		h.Invoices = append(h.Invoices, p)
		h.judge(s, p, h.isStored(ctx, p))
	}
	h.at = "the report of the day"
	fmt.Fprintln(h.notes, "Dave reports …")
	summary, _, err := h.say(ctx, "Dave", "Report on today's decisions.")
	if err != nil && h.stops(ctx) {
		return err
	}
	if h.Summary = summary; err != nil {
		h.Judgement.Problems = append(h.Judgement.Problems, "Dave came to no report: "+err.Error())
	}
	h.at = "the attempts"
	return h.probe(ctx)
}
