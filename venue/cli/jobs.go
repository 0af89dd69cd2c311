package cli

import (
	"context"
	"fmt"
	"time"

	"usher/tools/pause"
	"usher/venue"
	"usher/venue/runs"
)

// jobsCmd is [runsCmd] for the runs that are no turns.
type jobsCmd struct {
	List jobsListCmd `cmd:"" reads:"" help:"List jobs, tasks and orchestrations, the latest first."`
	Show runsShowCmd `cmd:"" reads:"" help:"Show a job: what it is, how it ended, and what came of it."`
	Wait jobsWaitCmd `cmd:"" help:"Wait until a job has ended, and show it; the status is 1 where it failed."`
	Stop runsStopCmd `cmd:"" help:"Stop a job."`
}

type jobsListCmd struct{ runsListCmd }

func (c *jobsListCmd) Run(ctx context.Context, s *streams) error {
	return c.list(ctx, s, "jobs", func(r *runs.Record) bool { return r.Kind != runs.Turn })
}

type jobsWaitCmd struct{ runsShowCmd }

// lookAgain is how soon one looks again at what cannot be followed.
const lookAgain = 250 * time.Millisecond

func (c *jobsWaitCmd) Run(ctx context.Context, s *streams) error {
	return c.withRun(ctx, s, func(u *venue.User, r *runs.Record) error {
		for {
			for _, err := range u.Events(ctx, r.ID, 0) { // until it ends, or rests
				if err != nil {
					return interruptionOf(ctx, err)
				}
			}
			now, err := u.Run(ctx, r.ID)
			switch {
			case err != nil:
				return err
			case now.Over():
				if err := c.show(ctx, s, u, &now); err != nil || now.Status == runs.Complete {
					return err
				}
				return errQuiet
			case s.upVenue() == nil:
				return fmt.Errorf("run %s is %s, and nobody drives it: usher up, or usher serve, goes on with it", now.ID, now.Status)
			}
			if pause.For(ctx, lookAgain) != nil {
				return errInterrupted
			}
		}
	})
}
