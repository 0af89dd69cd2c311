package approvals

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"usher/tools"
	"usher/tools/approvals"
	"usher/ucan"
	"usher/venue/runs"
	"usher/venue/store"
)

// Options says what a room works with. Every field but the last two is needed.
type Options struct {
	Store  *store.Space // of the whole venue
	Runs   *runs.Book
	Keys   keyring
	Now    func() time.Time
	NewID  func() (string, error)
	Logger *slog.Logger

	Life time.Duration // of a request; 0 is [DefaultLife]
	// Told is called with each request that is filed and each that is answered; nil is
	// nobody. It must not wait.
	Told func(approvals.Request)
}

// DefaultLife is how long a request waits for an answer.
const DefaultLife = 7 * 24 * time.Hour

// keyring has the keys of the venue's users.
type keyring interface {
	Of(ctx context.Context, did ucan.DID) (ucan.Key, error)
	// Independent returns the life of the agent whose key the principal is, or "".
	Independent(did ucan.DID) tools.Life
}

// Room keeps the requests. It is safe for concurrent use.
type Room struct{ Options }

var (
	_ approvals.Service = (*Room)(nil)
	_ tools.Approvals   = (*Room)(nil)
)

// New returns a room.
func New(o Options) *Room {
	o.Life = cmp.Or(o.Life, DefaultLife)
	return &Room{o}
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
