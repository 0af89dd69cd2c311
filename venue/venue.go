package venue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"usher/runtime/telemetry"
	"usher/tools"
	"usher/tools/a2a"
	"usher/tools/agentauth"
	"usher/tools/delegation"
	"usher/tools/mcp"
	"usher/tools/workspace"
	"usher/ucan"
	"usher/venue/accounts"
	"usher/venue/agents"
	"usher/venue/approvals"
	"usher/venue/auth"
	"usher/venue/clock"
	"usher/venue/keys"
	"usher/venue/ledger"
	"usher/venue/lending"
	"usher/venue/models"
	"usher/venue/replies"
	"usher/venue/retention"
	"usher/venue/runs"
	"usher/venue/schedules"
	"usher/venue/store"
	"usher/venue/store/journal"
	"usher/venue/webhooks"
)

// Venue is an open venue. It is safe for concurrent use.
type Venue struct {
	name      string
	log       *slog.Logger
	now       func() time.Time
	random    io.Reader
	readOnly  bool
	repairs   *repairs
	store     *store.Store
	clock     *clock.Clock
	tree      *workspace.Tree
	ledger    *ledger.Ledger
	registry  *tools.Registry
	gate      *tools.Gate
	mint      *tools.Mint
	models    *models.Models
	applied   application
	keys      *keys.Ring
	secrets   *keys.Secrets
	tokens    *ucan.Store
	desk      *delegation.Desk
	verifier  *ucan.Verifier
	agents    *agents.Room
	jobs      *jobs
	observer  *telemetry.Telemetry
	runs      *runs.Book
	timer     *schedules.Room
	lives     *lives
	servers   *mcp.Servers
	approvals *approvals.Room
	hook      *approvals.Hook
	spending  *accounts.Book
	inbox     *webhooks.Inbox
	outbox    *webhooks.Outbox
	pushes    *webhooks.Pushes
	auth      *auth.Room
	abroad    *agentauth.Clients
	others    *a2a.Clients
	secret    func(ctx context.Context, name string) (string, error) // of the configuration's user; nil without one
	replies   *replies.Room
	lending   *lending.Room
	keeper    *retention.Keeper

	idMu sync.Mutex
	ids  *ulid.MonotonicEntropy

	closing context.Context // ends when Close begins
	stop    context.CancelFunc
	work    sync.WaitGroup // beside the runs
	ended   sync.Once
}

// secretOf reads the secrets of a user by their names.
func (v *Venue) secretOf(owner ucan.DID) func(ctx context.Context, name string) (string, error) {
	return func(ctx context.Context, name string) (string, error) {
		return v.readSecret(ctx, owner, name)
	}
}

// readSecret reads a secret of a user, as it is now.
func (v *Venue) readSecret(ctx context.Context, owner ucan.DID, name string) (string, error) {
	value, err := v.secrets.Get(ctx, owner, name)
	return string(value), err
}

// Prune removes at once what the configuration does not keep, as the venue does by
// itself every hour.
func (v *Venue) Prune(ctx context.Context) (retention.PruneResult, error) {
	if v.readOnly {
		return retention.PruneResult{}, journal.ErrReadOnly
	}
	return v.keeper.Prune(ctx)
}

// Close lets nothing more begin, stops what runs, waits until its end is written and
// for the work in the background, and closes the store. What does not stop within
// [runs.DefaultGrace] is left behind, with an unknown outcome.
func (v *Venue) Close() (err error) {
	v.ended.Do(func() { err = v.close() })
	return err
}

func (v *Venue) close() (err error) {
	v.stop()
	if v.runs != nil {
		v.runs.Close()
	}
	v.work.Wait()
	v.servers.Close()
	if v.hook != nil {
		v.hook.Close()
	}
	if v.models != nil {
		err = v.models.Close()
	}
	if v.tree != nil {
		err = errors.Join(err, v.tree.Close())
	}
	if v.clock != nil {
		v.clock.Close(context.Background())
	}
	if v.ledger != nil {
		err = errors.Join(err, v.ledger.Close())
	}
	return errors.Join(err, v.store.Close())
}

// LiveRuns returns the runs that execute now: jobs that were started and left to
// themselves, after whoever started them is done. Close stops them.
func (v *Venue) LiveRuns() []*runs.Run { return v.runs.LiveRuns() }

// RestCount is how many runs wait for somebody or something, or are paused; -1 where that
// cannot be read.
func (v *Venue) RestCount(ctx context.Context) int { return v.runs.RestCount(ctx) }

// Used lists what models were used since the venue was opened. Of one that has neither a log
// nor telemetry nothing is known.
func (v *Venue) Used() []telemetry.Used { return v.observer.Used() }

// DID is the venue's own identity.
func (v *Venue) DID() ucan.DID { return v.keys.Venue().DID() }

// Hosts reports whether the venue has the key of a principal.
func (v *Venue) Hosts(did ucan.DID) bool { return v.keys.Hosts(did) }

// Name is what models are told that the venue is called.
func (v *Venue) Name() string { return v.name }

// newID returns an id that sorts by time and that no one can guess who has seen none of its moment: it
// proves nothing.
func (v *Venue) newID() (string, error) {
	v.idMu.Lock()
	defer v.idMu.Unlock()
	id, err := ulid.New(ulid.Timestamp(v.now()), v.ids)
	if err != nil {
		return "", fmt.Errorf("make an id: %w", err)
	}
	return id.String(), nil
}

func keyFile(dir string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "venue.key")
}
