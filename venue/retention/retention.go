// Package retention is the room of a venue that removes what is over: sessions, runs
// and requests for approvals beyond what the configuration keeps, rows of the ledger,
// and tokens that expired long ago. [Keeper.Run] does so in the background, [Keeper.Prune] at once.
//
// By default nothing but expired tokens goes. What still decides anything never
// does: revocations, agents that have ended, marks of used invocations, calls that
// run, runs that execute, sessions that are in use or in which messages wait. And
// nothing goes by its time while the clock is in doubt, see [clock.Clock.Sure].
package retention

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"usher/tools/pause"
	"usher/ucan"
	"usher/venue/clock"
	"usher/venue/config"
	"usher/venue/ledger"
	"usher/venue/runs"
)

const (
	every      = time.Hour           // between two prunings
	tokenGrace = 30 * 24 * time.Hour // after which an expired token goes: a listing may still show what ran out
	slack      = 10                  // rows go when there is a tenth more than stays, since to say so is a row, too
)

// Options says what a keeper works with. Every field is needed.
type Options struct {
	Keep      config.Retention
	Clock     *clock.Clock
	Tokens    *ucan.Store
	Runs      *runs.Book
	Approvals requests
	Ledger    *ledger.Ledger
	Logger    *slog.Logger
}

// requests are those that wait, or have waited, for a person.
type requests interface {
	Prune(ctx context.Context, keep runs.Keep, rest runs.Rest) (n int, err error)
}

// Keeper removes what is over.
type Keeper struct{ Options }

// New returns a keeper.
func New(o Options) *Keeper { return &Keeper{o} }

// PruneResult is what went.
type PruneResult struct {
	Tokens    int    `json:"tokens"`
	Sessions  int    `json:"sessions"`
	Runs      int    `json:"runs"`
	Approvals int    `json:"approvals"`
	Rows      uint64 `json:"rows"`
}

// Run prunes now and then until ctx ends, at half the speed that it could.
func (k *Keeper) Run(ctx context.Context) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		gone, err := k.prune(ctx, restAfter())
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			k.Logger.WarnContext(ctx, "what is over could not be removed", "error", err)
		}
		if gone != (PruneResult{}) {
			k.Logger.InfoContext(ctx, "removed what is over", "tokens", gone.Tokens, "sessions", gone.Sessions, "runs", gone.Runs, "approvals", gone.Approvals, "rows", gone.Rows)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// restAfter rests as long as the batch before took, a second at most.
func restAfter() runs.Rest {
	began := time.Now()
	return func(ctx context.Context) error {
		err := pause.For(ctx, min(time.Since(began), time.Second))
		began = time.Now()
		return err
	}
}

// Prune removes what is over at once, and without a rest.
func (k *Keeper) Prune(ctx context.Context) (PruneResult, error) {
	return k.prune(ctx, func(ctx context.Context) error { return ctx.Err() })
}

func (k *Keeper) prune(ctx context.Context, rest runs.Rest) (gone PruneResult, err error) {
	var failed [5]error
	now, sure := k.Clock.Sure(ctx)
	if sure {
		gone.Tokens, failed[0] = k.Tokens.Sweep(ctx, now.Add(-tokenGrace))
		if of := k.Keep.Sessions; of != (config.KeepLimit{}) {
			gone.Sessions, failed[1] = k.Runs.Sessions().Prune(ctx, keep(of, now), rest)
		}
		if of := k.Keep.Runs; of != (config.KeepLimit{}) {
			gone.Runs, failed[2] = k.Runs.Prune(ctx, keep(of, now), rest)
		}
		if of := k.Keep.Approvals; of != (config.KeepLimit{}) {
			gone.Approvals, failed[4] = k.Approvals.Prune(ctx, keep(of, now), rest)
		}
	}
	gone.Rows, failed[3] = k.rows(ctx, now, sure, rest)
	return gone, errors.Join(failed[:]...)
}

func keep(of config.KeepLimit, now time.Time) runs.Keep {
	out := runs.Keep{Number: of.Number}
	if of.Age > 0 {
		out.Before = now.Add(-of.Age)
	}
	return out
}

// rows prunes the ledger, where there is enough to prune.
func (k *Keeper) rows(ctx context.Context, now time.Time, sure bool, rest runs.Rest) (gone uint64, err error) {
	of := k.Keep.Rows
	if of == (config.KeepLimit{}) {
		return 0, nil
	}
	pruned, err := k.Ledger.PruneNote(ctx)
	if err != nil {
		return 0, err
	}
	var until ledger.Keep
	number := uint64(of.Number)
	last, err := k.Ledger.Newest(ctx)
	if err != nil {
		return 0, err
	}
	if number > 0 && last.Seq > pruned.To && last.Seq-pruned.To > number+number/slack {
		until.Rows = number
	}
	for first, err := range k.Ledger.Rows(ctx, pruned.To+1) {
		if err != nil {
			return 0, err
		}
		if of.Age > 0 && sure && first.Time.Before(now.Add(-of.Age-of.Age/slack)) {
			until.Before = now.Add(-of.Age)
		}
		break
	}
	for until != (ledger.Keep{}) {
		n, err := k.Ledger.Prune(ctx, until, rest)
		if gone += n; err != nil || n == 0 {
			return gone, err
		}
	}
	return gone, nil
}
