package schedules

import (
	"context"
	"errors"
	"time"

	"usher/venue/store"
)

var errRestored = errors.New("its time passed before the data folder was restored from a backup, so that nobody knows whether it fired: make it again if it is to")

// Restored passes over all times until the one at which the folder was restored from a
// backup, which knows nothing of what fired since it was made: each schedule says what it
// missed, and one that has no other time fires no more.
func (r *Room) Restored(ctx context.Context, at time.Time) error {
	for key, err := range store.Keys(ctx, r.Store, prefix+due, "") {
		if err != nil {
			return err
		}
		when, owner, id, err := parseTimed(due, key)
		if err != nil || when.After(at) {
			return err
		}
		rec, err := r.read(ctx, owner, id)
		switch {
		case err != nil:
		case rec == nil || rec.Next != when.UnixMilli():
		case rec.Cron == "":
			err = r.end(ctx, rec, errRestored)
		default:
			err = r.settle(ctx, rec, at, true)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
