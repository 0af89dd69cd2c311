package venue

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"usher/venue/keys"
	"usher/venue/ledger"
	"usher/venue/store/journal"
)

// createLedger begins the ledger of a new venue, before anything else is in its
// store.
func (v *Venue) createLedger(ctx context.Context) error {
	if did, err := keys.VenueIn(ctx, v.store.Under("k/")); err != nil || !did.IsZero() {
		return err
	}
	if v.readOnly {
		return fmt.Errorf("it holds no venue, and %w", journal.ErrReadOnly)
	}
	return ledger.Create(ctx, v.store)
}

// checkpoints are the places of checkpoints outside the data folder.
func (o *Options) checkpoints() []string {
	if o.Config == nil {
		return o.Checkpoints
	}
	return slices.Concat(o.Checkpoints, o.Config.CheckpointPlaces())
}

// openLedger opens the ledger that createLedger has begun.
func (v *Venue) openLedger(ctx context.Context, o *Options) (err error) {
	places := o.checkpoints()
	if o.Dir != "" {
		places = append([]string{CheckpointFile(o.Dir)}, places...)
	}
	v.ledger, err = ledger.Open(ctx, v.store, ledger.Options{
		Key: v.keys.Venue(), Checkpoints: places, ReadOnly: v.readOnly, Now: v.now, Logger: v.log,
	})
	return err
}

// Audit yields the rows of the ledger from the given number on, in their order,
// and checks on the way that they are those that were written: if not, it ends
// with [ledger.ErrBroken]. From 0 or 1 it checks all of it.
func (v *Venue) Audit(ctx context.Context, from uint64) iter.Seq2[ledger.Row, error] {
	return v.ledger.Rows(ctx, from)
}

// Ledger is the audit ledger, to read, to export and to prove from.
func (v *Venue) Ledger() *ledger.Ledger { return v.ledger }

// ReadLedger opens the ledger of a data folder to read it, also one that no
// longer holds, and no more of the venue than that. The reader is valid until
// shut is called.
func ReadLedger(ctx context.Context, dir string) (r *ledger.Reader, shut func() error, err error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, nil, fmt.Errorf("there is no data folder %s: %w", dir, err)
	}
	st, err := journal.Open(dir, &journal.Options{ReadOnly: true})
	if err != nil {
		return nil, nil, fmt.Errorf("read ledger: %w", err)
	}
	did, err := keys.VenueIn(ctx, st.Under("k/"))
	if err == nil && did.IsZero() {
		err = fmt.Errorf("%s holds no venue", dir)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("read ledger: %w", err), st.Close())
	}
	return ledger.NewReader(st, did), st.Close, nil
}

// CheckpointFile is where the checkpoints of a data folder lie beside its
// store, which is thereby found to have been rolled back or emptied.
func CheckpointFile(dir string) string { return filepath.Join(dir, "ledger.checkpoints") }
