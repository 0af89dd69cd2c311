package apply

import (
	"context"
	"encoding/json"
	"errors"

	"usher/tools/fault"
	"usher/tools/scheduler"
)

// schedule makes a schedule, or replaces the one of its name. One whose time has passed
// when it is first read is told, and not made.
func (r *room) schedule(ctx context.Context, s scheduler.Schedule) error {
	entry, err := json.Marshal(s)
	if err != nil {
		return err
	}
	s.Overwrite = true
	err = r.once(ctx, noteSchedule+s.Name, entry, "scheduler:schedule", s)
	if _, passed := errors.AsType[*scheduler.PastError](err); passed {
		r.out.Passed = append(r.out.Passed, s.Name)
		return r.remember(ctx, noteSchedule+s.Name, entry)
	}
	return err
}

// straySchedule tells of a schedule that has left the configuration. One that fires no
// more is forgotten, so that it is made again when it is written again.
func (r *room) straySchedule(ctx context.Context, name string) error {
	err := r.ask(ctx, "scheduler:list", map[string]string{"handle": name}, new(scheduler.Listing))
	if fault.Of(err) == fault.NotFound {
		_, err := r.notes.Apply(ctx, nil, nil, []string{r.prefix + noteSchedule + name})
		return err
	}
	if err == nil {
		r.out.Schedules = append(r.out.Schedules, name)
	}
	return err
}
