package venue

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"weak"

	"usher/tools/spend"
	"usher/venue/store"
)

// accounts keeps what agents and their sessions have spent. There is one budget
// in memory for each account, as long as anything can charge it: turns and
// background work share it, so that nothing is spent twice. It is reached by a
// weak pointer, as nobody knows when the last of them has ended.
//
// Totals are stored with the log entry that the spending belongs to. What
// limits something is stored before each model call too, with what the call may
// cost: a process that is killed has spent it.
type accounts struct {
	space *store.Space // of the whole venue: a total is written with the log entry that it belongs to
	log   *slog.Logger

	mu   sync.Mutex
	open map[string]*account // by name
}

// account is an account that something in this process can charge.
type account struct {
	key    string
	budget weak.Pointer[spend.Budget]

	// Guarded by accounts.mu:
	total   spend.Amount // that was stored last, or is on its way
	writes  int          // on their way with a total of the account
	unclear bool         // which of two totals that were on their way together was stored last
}

func newAccounts(space *store.Space, log *slog.Logger) *accounts {
	return &accounts{space: space, log: log, open: make(map[string]*account)}
}

// accountKey is where an account is stored.
func accountKey(name string) string { return "b/" + name }

// longestWait is for room that other calls hold: an agent that has started work
// in the background is not refused because that has a budget's rest in hand.
const longestWait = time.Minute

// budget returns the budget of an account. limits is asked under the lock, by
// which the newest counts, and counts for whoever has the budget already.
func (s *accounts) budget(ctx context.Context, name, called string, limits func() spend.Limits) (*spend.Budget, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.used(name); b != nil {
		b.SetLimits(limits())
		return b, nil
	}
	past, err := s.read(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("read what %s has spent: %w", called, err)
	}
	b := spend.NewAccount(name, called, limits(), past)
	b.Wait(longestWait)
	a := &account{key: accountKey(name), budget: weak.Make(b), total: past}
	s.open[name] = a
	goruntime.AddCleanup(b, func(a *account) { s.forget(name, a) }, a)
	return b, nil
}

// used is the budget of an account that something can charge, or nil. The
// caller holds mu.
func (s *accounts) used(name string) *spend.Budget {
	if a := s.open[name]; a != nil {
		return a.budget.Value()
	}
	return nil
}

func (s *accounts) forget(name string, a *account) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[name] == a {
		delete(s.open, name)
	}
}

// limit gives new limits to those budgets of an agent and its sessions that are
// in use.
func (s *accounts) limit(of bound, agent, session func() spend.Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, a := range s.open {
		switch b := a.budget.Value(); {
		case b == nil:
		case name == of.String():
			b.SetLimits(agent())
		case strings.HasPrefix(name, accountOf(of, "")):
			b.SetLimits(session())
		}
	}
}

// spent returns what an account has spent.
func (s *accounts) spent(ctx context.Context, name string) (spend.Amount, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.used(name); b != nil {
		return b.Spent(), nil
	}
	return s.read(ctx, name)
}

func (s *accounts) read(ctx context.Context, name string) (past spend.Amount, err error) {
	raw, _, err := s.space.Get(ctx, accountKey(name))
	if err != nil || raw == nil {
		return past, err
	}
	err = json.Unmarshal(raw, &past)
	return past, err
}

// remove forgets an agent's account, and those of its sessions.
func (s *accounts) remove(ctx context.Context, of bound) error {
	s.mu.Lock()
	maps.DeleteFunc(s.open, func(name string, _ *account) bool {
		return name == of.String() || strings.HasPrefix(name, accountOf(of, ""))
	})
	s.mu.Unlock()
	stored, err := s.sessions(ctx, of)
	if err != nil {
		return err
	}
	del := []string{accountKey(of.String())}
	for session := range stored {
		del = append(del, accountKey(accountOf(of, session)))
	}
	for batch := range slices.Chunk(del, 1000) {
		if _, err := s.space.Apply(ctx, nil, nil, batch); err != nil {
			return err
		}
	}
	return nil
}

// copySessions lets copied sessions have spent what the first ones had. A
// session that has spent something already keeps that.
func (s *accounts) copySessions(ctx context.Context, from, to bound) error {
	stored, err := s.sessions(ctx, from)
	for session, raw := range stored {
		key := accountKey(accountOf(to, session))
		if _, err := s.space.Apply(ctx, map[string]uint64{key: 0}, map[string][]byte{key: raw}, nil); err != nil {
			return err
		}
	}
	return err
}

// sessions returns the stored accounts of an agent's sessions.
func (s *accounts) sessions(ctx context.Context, of bound) (map[string][]byte, error) {
	out := make(map[string][]byte)
	prefix := accountKey(accountOf(of, ""))
	for row, err := range store.Rows(ctx, s.space, prefix, "") {
		if err != nil {
			return nil, err
		}
		out[row.Key[len(prefix):]] = row.Value
	}
	return out, nil
}

// accountOf is the account of a session. The agent's own is of.String().
func accountOf(of bound, session string) string { return of.String() + "/" + session }
