package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"

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
	if _, err := f.load(); err != nil {
		return err
	}
	if f.dir == "" {
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
	fromConfig
	Row  string `arg:"" help:"The row's number, as audit list shows it."`
	JSON bool   `name:"json" help:"Print the proof as JSON."`
}

func (c *auditProveCmd) Run(ctx context.Context, s *streams) error {
	seq, err := strconv.ParseUint(c.Row, 10, 64)
	if err != nil || seq == 0 {
		return misusef("%q is no number of a row: audit list shows them", c.Row)
	}
	return c.withVenue(ctx, s, func(v *venue.Venue, _ *venue.User) error {
		proof, err := v.Ledger().Prove(ctx, seq)
		if err != nil {
			return err
		}
		if c.JSON {
			return s.printJSON(proof)
		}
		_, err = fmt.Fprint(s.out, proof.Text())
		return err
	})
}

type auditExportCmd struct {
	fromConfig
	Out  string `default:"-" placeholder:"FILE" help:"Where to write it, instead of standard output."`
	JSON bool   `name:"json" help:"Write JSON, as it does without."`
}

func (c *auditExportCmd) Run(ctx context.Context, s *streams) error {
	return c.withVenue(ctx, s, func(v *venue.Venue, _ *venue.User) (err error) {
		out := s.out
		if c.Out != "-" {
			f, err := os.OpenFile(c.Out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if os.IsExist(err) {
				return misusef("%s is there already: name a new file", c.Out)
			}
			if err != nil {
				return misuse{err}
			}
			defer func() {
				if closing := f.Close(); err == nil {
					err = closing
				}
			}()
			out = f
		}
		report, err := v.Ledger().Export(ctx, out)
		if err != nil {
			return err
		}
		s.note(fmt.Sprintf("%s, signed by %s", many(int(report.Rows), "row"), v.DID()))
		return nil
	})
}
