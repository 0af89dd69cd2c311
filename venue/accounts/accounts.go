// Package accounts is the room of a venue where it is kept what agents and their
// sessions have spent. [Book.Budget] returns the budget of an account, which model
// calls charge, and [Book.Draft] adds what was spent to the write that it belongs
// to. An agent's account is named after the life that it is counted for, a
// session's by [Of], and a run's by [OfRun].
package accounts

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	goruntime "runtime"
	"strings"
	"sync"
	"time"
	"weak"

	"usher/tools"
	"usher/tools/spend"
	"usher/venue/store"
)

// Book keeps the accounts of a venue. There is one budget in memory for each
// account, as long as anything can charge it: turns and background work share it,
// so that nothing is spent twice. It is reached by a weak pointer, as nobody knows
// when the last of them has ended.
//
// Totals are stored with the log entry that the spending belongs to. What
// limits something is stored before each model call too, with what the call may
// cost: a process that is killed has spent it.
type Book struct {
	space *store.Space // of the whole venue: a total is written with the log entry that it belongs to
	log   *slog.Logger

	mu   sync.Mutex
	open map[string]*account // by name
}

// account is an account that something in this process can charge.
type account struct {
	key    string
	budget weak.Pointer[spend.Budget]

	// Guarded by Book.mu:
	total   spend.Amount // that was stored last, or is on its way
	writes  int          // on their way with a total of the account
	unclear bool         // which of two totals that were on their way together was stored last
}

// New returns the book of a venue whose whole store is the space.
func New(space *store.Space, log *slog.Logger) *Book {
	return &Book{space: space, log: log, open: make(map[string]*account)}
}

// accountKey is where an account is stored.
func accountKey(name string) string { return "b/" + name }

// longestWait is for room that other calls hold: an agent that has started work
// in the background is not refused because that has a budget's rest in hand.
const longestWait = time.Minute

// Budget returns the budget of an account. limits is asked under the lock, by
// which the newest counts, and counts for whoever has the budget already.
func (s *Book) Budget(ctx context.Context, name, called string, limits func() spend.Limits) (*spend.Budget, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.used(name); b != nil {
		b.SetLimits(limits())
		return b, nil
	}
	key := accountKey(name)
	past, err := s.read(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("read what %s has spent: %w", called, err)
	}
	b := spend.NewAccount(name, called, limits(), past)
	b.Wait(longestWait)
	a := &account{key: key, budget: weak.Make(b), total: past}
	s.open[name] = a
	goruntime.AddCleanup(b, func(a *account) { s.forget(name, a) }, a)
	return b, nil
}

// used is the budget of an account that something can charge, or nil. The
// caller holds mu.
func (s *Book) used(name string) *spend.Budget {
	if a := s.open[name]; a != nil {
		return a.budget.Value()
	}
	return nil
}

func (s *Book) forget(name string, a *account) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[name] == a {
		delete(s.open, name)
	}
}

// Limit gives new limits to those budgets of an agent and its sessions that are
// in use.
func (s *Book) Limit(of tools.Life, agent, session func() spend.Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, a := range s.open {
		switch b := a.budget.Value(); {
		case b == nil:
		case name == string(of):
			b.SetLimits(agent())
		case strings.HasPrefix(name, Of(of, "")):
			b.SetLimits(session())
		}
	}
}

// Usage returns what an account has spent.
func (s *Book) Usage(ctx context.Context, name string) (spend.Amount, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.used(name); b != nil {
		return b.Amount(), nil
	}
	return s.read(ctx, accountKey(name))
}

func (s *Book) read(ctx context.Context, key string) (past spend.Amount, err error) {
	raw, _, err := s.space.Get(ctx, key)
	if err != nil || raw == nil {
		return past, err
	}
	err = json.Unmarshal(raw, &past)
	return past, err
}

// Remove forgets an agent's account, and those of its sessions.
func (s *Book) Remove(ctx context.Context, of tools.Life) error {
	s.mu.Lock()
	maps.DeleteFunc(s.open, func(name string, _ *account) bool {
		return name == string(of) || strings.HasPrefix(name, Of(of, ""))
	})
	s.mu.Unlock()
	if err := s.space.RemoveBelow(ctx, accountKey(Of(of, ""))); err != nil {
		return err
	}
	_, err := s.space.Apply(ctx, nil, nil, []string{accountKey(string(of))})
	return err
}

// RemoveSession forgets the account of a session. What charges it goes on charging
// the other accounts that it is charged to.
func (s *Book) RemoveSession(ctx context.Context, account string) error {
	s.mu.Lock()
	delete(s.open, account)
	s.mu.Unlock()
	_, err := s.space.Apply(ctx, nil, nil, []string{accountKey(account)})
	return err
}

// CopySessions lets copied sessions have spent what the first ones had. A
// session that has spent something already keeps that.
func (s *Book) CopySessions(ctx context.Context, from, to tools.Life) error {
	prefix := accountKey(Of(from, ""))
	for row, err := range store.Rows(ctx, s.space, prefix, "") {
		if err != nil {
			return err
		}
		key := accountKey(Of(to, row.Key[len(prefix):]))
		if _, err := s.space.Apply(ctx, map[string]uint64{key: 0}, map[string][]byte{key: row.Value}, nil); err != nil {
			return err
		}
	}
	return nil
}

// Of is the account of a session of an agent.
func Of(of tools.Life, session string) string { return string(of) + "/" + session }

// OfRun and OfTask are the accounts of a run, "<owner>/<id>": of what its agent may spend in
// any run, and of what it may in this one.
func OfRun(run string) string  { return "run/" + run }
func OfTask(run string) string { return "task/" + run }

// Forget forgets what was spent in a run, "<owner>/<id>", of which nothing is kept any more: it
// returns the keys of the whole store to remove with its record.
func (s *Book) Forget(ctx context.Context, run string) (keys []string, err error) {
	for _, name := range []string{OfRun(run), OfTask(run)} {
		key := accountKey(name)
		_, rev, err := s.space.Get(ctx, key)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		delete(s.open, name)
		s.mu.Unlock()
		if rev != 0 {
			keys = append(keys, key)
		}
	}
	return keys, nil
}
