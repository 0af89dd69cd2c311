package cli

import (
	"context"
	"fmt"
	"strings"

	"usher/venue/config"
)

// configWatch is the configuration of a venue that is up, while people change it.
type configWatch struct {
	*streams
	kept *upVenue
	from *fromConfig
	seen *config.Config // that was applied last, as it was read
	half bool           // of another one since, some was applied
	told string         // the last thing that was wrong, so that it is said once
}

// look applies the configuration where it has changed, and returns the files that it
// was read from. One with a fault changes nothing.
func (w *configWatch) look(ctx context.Context) (files []string) {
	read := config.Read(w.from.Config)
	err, takes := read.Err, "nothing"
	var changes []config.Change
	if err == nil {
		if changes = config.Changes(w.seen, read.Config); len(changes) == 0 && !w.half {
			w.tellRepair()
			return read.Files
		}
		err = w.check(ctx, read.Config)
	}
	if err == nil {
		takes = "not all"
		err = w.apply(ctx, read.Config, changes)
	}
	if err != nil && ctx.Err() == nil && err.Error() != w.told {
		w.told = err.Error()
		w.tell(fmt.Errorf("%s changed, and %s of it takes effect: %w", w.from.Config, takes, err))
	}
	return read.Files
}

// tellRepair says that what was wrong is gone, where nothing else has changed.
func (w *configWatch) tellRepair() {
	if w.told != "" {
		w.note(w.from.Config + " is again as it is applied")
	}
	w.told = ""
}

// check refuses what lint calls an error.
func (w *configWatch) check(ctx context.Context, c *config.Config) error {
	findings, err := w.lint(ctx, c)
	if err != nil {
		return err
	}
	var wrong []string
	for _, f := range findings {
		if f.Level == config.LevelError {
			wrong = append(wrong, f.String())
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("%s", strings.Join(wrong, "\n"))
}

// apply brings the venue to the configuration and says what has changed.
func (w *configWatch) apply(ctx context.Context, c *config.Config, changes []config.Change) error {
	w.half = true
	if err := w.kept.venue.Configure(ctx, c); err != nil {
		return err
	}
	if w.half = false; len(changes) == 0 {
		w.tellRepair()
	}
	w.told, w.seen = "", c
	old, now := w.kept.config.Load(), *c
	// What takes effect at the next start only is still as it was.
	now.Name, now.User, now.Store, now.Dir = old.Name, old.User, old.Store, old.Dir
	now.Limits, now.Ledger, now.Retention = old.Limits, old.Ledger, old.Retention
	w.kept.config.Store(&now)
	var late []string
	for _, change := range changes {
		if change.Late {
			late = append(late, change.What)
			continue
		}
		w.note(change.What + " " + change.How)
	}
	if len(late) > 0 {
		w.warn(strings.Join(late, ", ") + " changed, which takes effect when the venue is started again")
	}
	w.from.noteOutcome(w.streams, w.kept.venue.Outcome())
	return nil
}
