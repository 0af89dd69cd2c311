package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"usher/venue"
	"usher/venue/ledger"
)

type auditCmd struct {
	List   auditListCmd   `cmd:"" help:"List the decisions of the gate, the newest last."`
	Verify auditVerifyCmd `cmd:"" help:"Check that no row was changed, removed or put back to what it was."`
	Export auditExportCmd `cmd:"" help:"Write all rows and a checkpoint over them, as lines of JSON."`
	Prove  auditProveCmd  `cmd:"" help:"Prove to others that a row is in the ledger."`
}

// withLedger runs fn with the ledger of the configuration, also where it is
// broken.
func (f *fromConfig) withLedger(ctx context.Context, s *streams, fn func(*ledger.Reader) error) error {
	if _, err := f.load(s); err != nil {
		return err
	}
	if f.dir == "" || s.kept() != nil {
		return f.withVenue(ctx, s, func(v *venue.Venue, _ *venue.User) error { return fn(&v.Ledger().Reader) })
	}
	if _, err := os.Stat(f.dir); err != nil {
		return misusef("there is no data folder %s: nothing has run with %s yet", f.dir, f.Config)
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

type auditProveCmd struct {
	onVenue
	Row uint64 `arg:"" help:"The row's number, as audit list shows it."`
}

func (c *auditProveCmd) Run(ctx context.Context, s *streams) error {
	if c.Row == 0 {
		return misusef("rows begin at 1: audit list shows them")
	}
	return c.withVenue(ctx, s, func(v *venue.Venue, _ *venue.User) error {
		proof, err := v.Ledger().Prove(ctx, c.Row)
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
		err := s.output(c.Out, func(out io.Writer) (err error) {
			report, err = v.Ledger().Export(ctx, out)
			return err
		})
		if err != nil {
			return err
		}
		s.note(fmt.Sprintf("%s, signed by %s", many(report.Rows-report.Pruned, "row"), v.DID()))
		if report.Pruned > 0 {
			s.note((&ledger.PrunedRows{To: report.Pruned, Note: report.PrunedBy}).Error())
		}
		return nil
	})
}
