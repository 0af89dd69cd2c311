package venue

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"usher/venue/runs"
)

// RestoredKey is where a folder says when it was restored from a backup, in milliseconds,
// until a venue has seen to it.
const RestoredKey = "v/restored"

// afterRestore ends what would happen a second time in a folder that was restored from a
// backup: the folder that was backed up may have gone on. Its runs may have ended, and its
// schedules have fired, and nothing here knows.
func (v *Venue) afterRestore(ctx context.Context) error {
	raw, _, err := v.store.Get(ctx, RestoredKey)
	if err != nil || raw == nil {
		return err
	}
	ms, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return fmt.Errorf("read when the folder was restored: %w", err)
	}
	why := fmt.Errorf("%w; the folder was restored from a backup, and nobody knows what the job did after that was made", runs.ErrInterrupted)
	if err := v.runs.Drive(ctx, driver{v}, false); err != nil {
		return err
	}
	if err := v.runs.Lose(ctx, why); err != nil {
		return fmt.Errorf("end the runs of a backup: %w", err)
	}
	if err := v.timer.PassOver(ctx, time.UnixMilli(ms)); err != nil {
		return fmt.Errorf("pass over the schedules of a backup: %w", err)
	}
	_, err = v.store.Apply(ctx, nil, nil, []string{RestoredKey})
	return err
}
