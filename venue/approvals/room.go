package approvals

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"usher/tools"
	"usher/tools/approvals"
	"usher/ucan"
	"usher/venue/runs"
	"usher/venue/store"
)

// Options says what a room works with. Every field but Most, Life and Told is needed.
type Options struct {
	Store  *store.Space // of the whole venue
	Runs   *runs.Book
	Keys   keyring
	Chains chains // of delegations by which others answer
	Now    func() time.Time
	NewID  func() (string, error)
	// Asks reports whether its owner is asked for what the life of an agent lacks.
	Asks   func(ctx context.Context, life tools.Life) bool
	Logger *slog.Logger
	Key    []byte // of the digests of calls

	Most int           // requests of a person that are pending, of which one agent makes at most a quarter; 0 is 1,000
	Life time.Duration // of a request; 0 is a week
	// Told is called with each request that is filed and each that is answered; nil is
	// nobody. It must not wait.
	Told func(approvals.Request)
	// Outside takes what a person says of a request that [Room.Swap] has filed, and closes it.
	Outside func(context.Context, Word) error
}

// defaultLife is how long a request waits for an answer.
const defaultLife = 7 * 24 * time.Hour

// defaultMost is how many requests of a person may be pending.
const defaultMost = 1000

// keyring has the keys of the venue's users.
type keyring interface {
	Of(ctx context.Context, did ucan.DID) (ucan.Key, error)
	// Independent returns the life of the agent whose key the principal is, or "".
	Independent(did ucan.DID) tools.Life
}

// chains verify what persons have delegated to each other.
type chains interface {
	Authorize(ctx context.Context, q ucan.Query) (ucan.Grant, error)
}

// Room keeps the requests. It is safe for concurrent use.
type Room struct {
	Options
	filing sync.Mutex // held by whoever files a request here: other processes are found by revisions
}

var (
	_ approvals.Service = (*Room)(nil)
	_ tools.Approvals   = (*Room)(nil)
)

// New returns a room.
func New(o Options) *Room {
	o.Life, o.Most = cmp.Or(o.Life, defaultLife), cmp.Or(o.Most, defaultMost)
	return &Room{Options: o}
}

// person is who answers for a principal: the user, or whose agent it is.
func (r *Room) person(of ucan.DID) string {
	for {
		life := r.Keys.Independent(of)
		above, err := ucan.ParseDID(life.Owner())
		if life == "" || err != nil || above == of {
			return of.String()
		}
		of = above
	}
}

func (r *Room) tell(rec *record) {
	if r.Told != nil {
		r.Told(rec.Request)
	}
}
