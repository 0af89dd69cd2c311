package venue

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"weak"

	"usher/runtime/wrap"
	"usher/venue/store"
)

// accounts keeps what agents and their sessions have spent. It is stored after
// each model call, so that a venue which is killed forgets at most what the
// calls spent that ran at that moment.
//
// There is one budget in memory for each account, as long as anything can
// charge it: turns and background work share it, so that nothing is spent
// twice. It is reached by a weak pointer, as nobody knows when the last of them
// has ended.
type accounts struct {
	space *store.Space
	log   *slog.Logger

	mu   sync.Mutex
	open map[string]weak.Pointer[wrap.Budget] // by account
}

func newAccounts(space *store.Space, log *slog.Logger) *accounts {
	return &accounts{space: space, log: log, open: make(map[string]weak.Pointer[wrap.Budget])}
}

// spent is a stored account.
type spent struct {
	Calls  int64 `json:"calls"`
	Tokens int64 `json:"tokens"`
	Money  int64 `json:"money"` // millionths
}

// longestWait is for room that other calls hold: an agent that has started work
// in the background is not refused because that has a budget's rest in hand.
const longestWait = time.Minute

// budget returns the budget of an account. limits is asked under the lock, by
// which the newest counts, and counts for whoever has the budget already.
func (s *accounts) budget(ctx context.Context, account, name string, limits func() wrap.BudgetLimits) (*wrap.Budget, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.open[account].Value(); b != nil {
		b.SetLimits(limits())
		return b, nil
	}
	past, err := s.read(ctx, account)
	if err != nil {
		return nil, fmt.Errorf("read what %s has spent: %w", name, err)
	}
	b := wrap.NewBudget(name, limits())
	b.Wait(longestWait)
	b.Resume(past)
	entry := weak.Make(b)
	b.OnSpent(func(done, held wrap.Spent) { s.write(account, entry, done.Plus(held)) })
	s.open[account] = entry
	runtime.AddCleanup(b, func(entry weak.Pointer[wrap.Budget]) { s.forget(account, entry) }, entry)
	return b, nil
}

// limit gives new limits to those budgets of an agent and its sessions that are
// in use.
func (s *accounts) limit(of bound, agent, session func() wrap.BudgetLimits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for account, entry := range s.open {
		switch b := entry.Value(); {
		case b == nil:
		case account == of.String():
			b.SetLimits(agent())
		case strings.HasPrefix(account, accountOf(of, "")):
			b.SetLimits(session())
		}
	}
}

// spent returns what an account has spent.
func (s *accounts) spent(ctx context.Context, account string) (wrap.Spent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.open[account].Value(); b != nil {
		return b.Spent(), nil
	}
	return s.read(ctx, account)
}

func (s *accounts) forget(account string, entry weak.Pointer[wrap.Budget]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[account] == entry {
		delete(s.open, account)
	}
}

func (s *accounts) read(ctx context.Context, account string) (wrap.Spent, error) {
	raw, _, err := s.space.Get(ctx, []byte(account))
	if err != nil || raw == nil {
		return wrap.Spent{}, err
	}
	var past spent
	if err := json.Unmarshal(raw, &past); err != nil {
		return wrap.Spent{}, err
	}
	return wrap.Spent(past), nil
}

// write stores the total, unless the account was removed meanwhile. It has what
// running calls hold in it, so that a process that is killed forgets none of
// them. An answer has been paid for: it is not withheld because this fails.
func (s *accounts) write(account string, entry weak.Pointer[wrap.Budget], total wrap.Spent) {
	s.mu.Lock()
	kept := s.open[account] == entry
	s.mu.Unlock()
	if !kept {
		return
	}
	raw, err := json.Marshal(spent(total))
	if err == nil {
		_, err = s.space.Apply(context.Background(), nil, map[string][]byte{account: raw}, nil)
	}
	if err != nil {
		s.log.Error("what was spent is not stored", "account", account, "error", err)
	}
}

// remove forgets an agent's account, and those of its sessions.
func (s *accounts) remove(ctx context.Context, of bound) error {
	s.mu.Lock()
	maps.DeleteFunc(s.open, func(account string, _ weak.Pointer[wrap.Budget]) bool {
		return account == of.String() || strings.HasPrefix(account, accountOf(of, ""))
	})
	s.mu.Unlock()
	stored, err := s.sessions(ctx, of)
	if err != nil {
		return err
	}
	del := []string{of.String()}
	for session := range stored {
		del = append(del, accountOf(of, session))
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
		account := accountOf(to, session)
		if _, err := s.space.Apply(ctx, map[string]uint64{account: 0}, map[string][]byte{account: raw}, nil); err != nil {
			return err
		}
	}
	return err
}

// sessions returns the stored accounts of an agent's sessions.
func (s *accounts) sessions(ctx context.Context, of bound) (map[string][]byte, error) {
	out := make(map[string][]byte)
	prefix := accountOf(of, "")
	err := s.space.Scan(ctx, []byte(prefix), nil, func(key, raw []byte) (bool, error) {
		out[string(key[len(prefix):])] = slices.Clone(raw)
		return true, nil
	})
	return out, err
}

// accountOf is the account of a session. The agent's own is of.String().
func accountOf(of bound, session string) string { return of.String() + "/" + session }
