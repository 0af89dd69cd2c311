package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"usher/ucan"
	"usher/venue"
	"usher/venue/ledger"
)

type auditCmd struct {
	List   auditListCmd   `cmd:"" reads:"" help:"List the decisions of the gate, the newest last."`
	Verify auditVerifyCmd `cmd:"" reads:"" help:"Check that no row was changed, removed or put back to what it was."`
	Export auditExportCmd `cmd:"" reads:"" help:"Write all rows and a checkpoint over them, as lines of JSON."`
	Prove  auditProveCmd  `cmd:"" reads:"" help:"Prove to others that a row is in the ledger."`
}

// withLedger runs fn with the ledger of the configuration, also where it is
// broken.
func (f *fromConfig) withLedger(ctx context.Context, s *streams, fn func(*ledger.Reader) error) error {
	if _, err := f.load(s); err != nil {
		return err
	}
	if f.dir == "" || s.upVenue() != nil {
		return f.withVenue(ctx, s, func(v *venue.Venue, _ *venue.User) error { return fn(&v.Ledger().Reader) })
	}
	if _, err := os.Stat(f.dir); err != nil {
		return f.nothingYet()
	}
	r, shut, err := venue.ReadLedger(ctx, f.dir)
	if err != nil {
		return err
	}
	defer func() { _ = shut() }() // only read
	return fn(r)
}

// checkpointPlaces are where checkpoints lie that the ledger must continue.
func (f *fromConfig) checkpointPlaces() []string {
	places := f.config.CheckpointPlaces()
	if f.dir != "" {
		places = append(slices.Clip(places), venue.CheckpointFile(f.dir))
	}
	return places
}

// rowNumber is the number of a row, as it is typed.
type rowNumber uint64

func (n *rowNumber) UnmarshalText(text []byte) error {
	row, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil || row == 0 {
		return fmt.Errorf("%q is no number of a row: usher audit list shows them, from 1 on", text)
	}
	*n = rowNumber(row)
	return nil
}

type auditProveCmd struct {
	onVenue
	Row rowNumber `arg:"" help:"The row's number, as audit list shows it."`
}

func (c *auditProveCmd) Run(ctx context.Context, s *streams) error {
	return c.withVenue(ctx, s, func(v *venue.Venue, _ *venue.User) error {
		proof, err := v.Ledger().Prove(ctx, uint64(c.Row))
		if err != nil {
			return err
		}
		return s.answer(c.JSON, proof, proof.Text())
	})
}

type auditExportCmd struct {
	onVenue
	Out string `default:"-" placeholder:"FILE" help:"Where to write it, instead of standard output."`
}

func (c *auditExportCmd) Run(ctx context.Context, s *streams) error {
	return c.withVenue(ctx, s, func(v *venue.Venue, _ *venue.User) error {
		var report ledger.Report
		err := s.output(c.Out, 0o600, func(out io.Writer) (err error) {
			report, err = v.Ledger().Export(ctx, out)
			return err
		})
		if err != nil {
			return err
		}
		s.note(fmt.Sprintf("%s, signed by %s", many(report.Rows-report.Pruned, "row"), v.DID()))
		if report.Pruned > 0 {
			s.note((&ledger.PruneNote{To: report.Pruned, Note: report.PrunedBy}).Error())
		}
		return nil
	})
}

type auditVerifyCmd struct {
	onVenue
	Export     string   `placeholder:"FILE" help:"Check what audit export wrote, instead of a data folder; - reads standard input. It needs --venue and nothing else."`
	Venue      ucan.DID `placeholder:"DID" help:"The venue that must have signed it."`
	Checkpoint []string `placeholder:"FILE" help:"Compare with the checkpoints in this file, too: the ledger must continue each of them."`
}

// holding is what audit verify prints as JSON.
type holding struct {
	Holds   bool     `json:"holds"`
	Venue   ucan.DID `json:"venue"`
	Problem string   `json:"problem,omitempty"`
	*ledger.Report
}

func (c *auditVerifyCmd) Run(ctx context.Context, s *streams) error {
	out := holding{Venue: c.Venue}
	against := make([]string, len(c.Checkpoint))
	for i, name := range c.Checkpoint {
		raw, err := s.readFile(name)
		if err != nil {
			return misuse{err}
		}
		if err := ledger.CheckNotes(string(raw)); err != nil {
			return misusef("--checkpoint: %s is no checkpoint: %w", name, err)
		}
		against[i] = string(raw)
	}
	var report ledger.Report
	var err error
	if c.Export != "" {
		report, err = c.export(s, out.Venue, against)
	} else {
		err = c.withLedger(ctx, s, func(r *ledger.Reader) (err error) {
			report, err = c.folder(ctx, r, &out.Venue, against)
			return err
		})
	}
	broken := errors.Is(err, ledger.ErrBroken)
	switch {
	case err != nil && (!broken || !c.JSON):
		return err
	case broken:
		out.Problem = err.Error()
	default:
		out.Holds, out.Report = true, &report
	}
	text := fmt.Sprintln(s.paint.good("holds:"), many(report.Rows, "row")+",", report.Signed, "of them signed by", out.Venue)
	if err := s.answer(c.JSON, out, text); err != nil {
		return err
	}
	if broken {
		return errQuiet
	}
	if report.Pruned > 0 && !c.JSON {
		s.note((&ledger.PruneNote{To: report.Pruned, Note: report.PrunedBy}).Error())
	}
	for _, file := range report.Missing {
		if !c.JSON {
			s.note(file + " has the checkpoints of this ledger, and is missing: what was rolled back since it went is not found without a checkpoint from elsewhere (--checkpoint)")
		}
	}
	if report.Unfinished > 0 && !c.JSON {
		s.note(fmt.Sprintf("%s without an outcome: the venue ended while they ran, or they still do", many(report.Unfinished, "call")))
	}
	return nil
}

func (c *auditVerifyCmd) export(s *streams, by ucan.DID, against []string) (ledger.Report, error) {
	if by.IsZero() {
		return ledger.Report{}, misusef("--export needs --venue DID: who must have signed it (usher ucan whoami prints it)")
	}
	in, err := s.source(c.Export)
	if err != nil {
		return ledger.Report{}, err
	}
	defer in.Close()
	return ledger.VerifyExport(in, by, against...)
}

// folder checks a data folder, also against the checkpoints that lie beside the
// store and in the files that the configuration names.
func (c *auditVerifyCmd) folder(ctx context.Context, r *ledger.Reader, by *ucan.DID, against []string) (ledger.Report, error) {
	if !by.IsZero() && *by != r.Venue() {
		return ledger.Report{}, fmt.Errorf("%w: it is the ledger of %s, not of %s", ledger.ErrBroken, r.Venue(), *by)
	}
	*by = r.Venue()
	return r.Verify(ctx, c.checkpointPlaces(), against...)
}
