package accounts

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	usher "usher/runtime"
	"usher/runtime/wrap"
	"usher/tools"
	"usher/tools/spend"
	"usher/ucan"
	"usher/venue/store"
	"usher/venue/store/memory"
)

// answering is a model that answers at once.
type answering struct{}

func (answering) Generate(context.Context, *usher.Request) iter.Seq2[usher.Chunk, error] {
	return func(yield func(usher.Chunk, error) bool) {
		yield(usher.Chunk{Text: "yes", Usage: &usher.Usage{Input: 3, Output: 4}}, nil)
	}
}

func newTestAccounts(t *testing.T) *Book {
	t.Helper()
	st := memory.Open()
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return New(st.Under("b/"), slog.New(slog.DiscardHandler))
}

func unlimited() spend.Limits { return spend.Limits{} }

// ask makes a call of a model as a turn does, which stores what it spent.
func ask(t *testing.T, s *Book, b *spend.Budget) {
	t.Helper()
	ctx := usher.WithKeeper(usher.WithBudgets(t.Context(), b), s.Hold)
	for _, err := range wrap.Meter(answering{}, "m", nil).Generate(ctx, &usher.Request{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	s.Save(ctx)
}

// While anything can charge a budget it is the only one of its account, and
// when nothing can any more it is kept in the store alone.
func TestOneBudgetForEachAccount(t *testing.T) {
	s := newTestAccounts(t)
	get := func() *spend.Budget {
		t.Helper()
		b, err := s.Budget(t.Context(), "a", "agent a", unlimited)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	func() {
		b := get()
		ask(t, s, b)
		runtime.GC()
		if get() != b {
			t.Error("there are two budgets of one account")
		}
		runtime.KeepAlive(b)
	}()
	inUse := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.open)
	}
	for range 1000 { // until the cleanup has run
		if runtime.GC(); inUse() == 0 {
			break
		}
		runtime.Gosched()
	}
	if inUse() != 0 {
		t.Error("a budget that nobody uses is kept in memory")
	}
	if got := get().Amount(); got != (spend.Amount{Calls: 1, Tokens: 7}) {
		t.Errorf("read again it has spent %+v", got)
	}
}

func TestRemovedAccountsStayRemoved(t *testing.T) {
	s := newTestAccounts(t)
	of := tools.NewLife(ucan.DID{}, "a", "1")
	var budgets []*spend.Budget
	for _, account := range []string{string(of), Of(of, "main"), Of(of, "other"), string(of) + "2"} {
		b, err := s.Budget(t.Context(), account, account, unlimited)
		if err != nil {
			t.Fatal(err)
		}
		ask(t, s, b)
		budgets = append(budgets, b)
	}
	if err := s.Remove(t.Context(), of); err != nil {
		t.Fatal(err)
	}
	for _, b := range budgets {
		ask(t, s, b) // of turns that had begun
	}
	for i, b := range budgets {
		want := spend.Amount{}
		if i == 3 {
			want = spend.Amount{Calls: 2, Tokens: 14}
		}
		if got, err := s.read(t.Context(), accountKey(b.Account())); err != nil || got != want {
			t.Errorf("%s has spent %+v, %v, want %+v", b.Account(), got, err, want)
		}
	}
}

// The newest limits count for whoever has the budget already, and those of an
// agent for nobody's but its own and its sessions'.
func TestLimitsOfAccounts(t *testing.T) {
	s := newTestAccounts(t)
	of := tools.NewLife(ucan.DID{}, "a", "1")
	n := func(calls int64) func() spend.Limits {
		return func() spend.Limits { return spend.Limits{Calls: calls} }
	}
	var budgets []*spend.Budget
	for _, account := range []string{string(of), Of(of, "main"), string(of) + "2", Of(tools.NewLife(ucan.DID{}, "b", "1"), "main")} {
		b, err := s.Budget(t.Context(), account, account, n(1))
		if err != nil {
			t.Fatal(err)
		}
		budgets = append(budgets, b)
	}
	limits := func() (out [4]int64) {
		for i, b := range budgets {
			out[i] = b.Limits().Calls
		}
		return out
	}
	s.Limit(of, n(2), n(3))
	if got, want := limits(), [4]int64{2, 3, 1, 1}; got != want {
		t.Errorf("limits are %v, want %v", got, want)
	}
	if _, err := s.Budget(t.Context(), string(of), "agent a", n(4)); err != nil {
		t.Fatal(err)
	}
	if got, want := limits(), [4]int64{4, 3, 1, 1}; got != want {
		t.Errorf("when it is asked for again limits are %v, want %v", got, want)
	}
	runtime.KeepAlive(budgets)
}

// What an account has spent and cannot be read is not nothing.
func TestAnAccountThatCannotBeRead(t *testing.T) {
	s := newTestAccounts(t)
	if _, err := s.space.Apply(t.Context(), nil, map[string][]byte{accountKey("a"): []byte("{")}, nil); err != nil {
		t.Fatal(err)
	}
	if b, err := s.Budget(t.Context(), "a", "agent a", unlimited); err == nil || b != nil {
		t.Errorf("the budget is %v, %v, want an error", b, err)
	}
}

// Where what was spent cannot be stored the answer, which is paid for, is given
// all the same, and the log says so.
func TestAnAccountThatCannotBeStored(t *testing.T) {
	st := memory.Open()
	var log strings.Builder
	s := New(st.Under("b/"), slog.New(slog.NewTextHandler(&log, nil)))
	b, err := s.Budget(t.Context(), "acme", "agent a", unlimited)
	if err := errors.Join(err, st.Close()); err != nil {
		t.Fatal(err)
	}
	ask(t, s, b)
	for _, want := range []string{"level=ERROR", "what was spent is not stored", "account=b/acme", store.ErrClosed.Error()} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q: %s", want, log.String())
		}
	}
}

// Of two batches that are on their way together the first total may be stored
// last: then the newest is stored once more.
func TestTotalsThatOvertakeEachOther(t *testing.T) {
	for name, order := range map[string][2]int{"in order": {0, 1}, "overtaken": {1, 0}} {
		t.Run(name, func(t *testing.T) {
			s := newTestAccounts(t)
			b, err := s.Budget(t.Context(), "a", "agent a", unlimited)
			if err != nil {
				t.Fatal(err)
			}
			ctx := usher.WithBudgets(t.Context(), b)
			var puts [2]map[string][]byte
			var drafts [2][]*account
			for i := range puts {
				charge(t, b)
				puts[i] = make(map[string][]byte)
				drafts[i] = s.draft(ctx, puts[i], nil)
			}
			for _, i := range order {
				if _, err := s.space.Apply(ctx, nil, puts[i], nil); err != nil {
					t.Fatal(err)
				}
				s.noteWrite(ctx, drafts[i], true)
			}
			if got, err := s.read(ctx, accountKey("a")); err != nil || got.Calls != 2 {
				t.Errorf("stored is %+v, %v, want 2 calls", got, err)
			}
			if drafts := s.draft(ctx, puts[0], nil); len(drafts) > 0 {
				t.Error("there is more to store")
			}
		})
	}
}

// charge makes a call that nobody stores.
func charge(t *testing.T, b *spend.Budget) {
	t.Helper()
	hold, err := spend.Take(t.Context(), []*spend.Budget{b}, spend.Call{Input: 1})
	if err != nil {
		t.Fatal(err)
	}
	hold.Settle(spend.Usage{Input: 3, Output: 4})
}

// Before a call only what limits something is stored; what a batch lost is in
// the next one.
func TestWhatIsStoredWhen(t *testing.T) {
	s := newTestAccounts(t)
	free, err := s.Budget(t.Context(), "free", "agent free", unlimited)
	if err != nil {
		t.Fatal(err)
	}
	bound, err := s.Budget(t.Context(), "bound", "agent bound", func() spend.Limits { return spend.Limits{Calls: 9} })
	if err != nil {
		t.Fatal(err)
	}
	ctx := usher.WithBudgets(t.Context(), free, bound)
	hold, err := spend.Take(ctx, usher.Budgets(ctx), spend.Call{Input: 1})
	if err != nil {
		t.Fatal(err)
	}
	s.Hold(ctx)
	for account, want := range map[string]int64{"free": 0, "bound": 1} {
		if got, err := s.read(ctx, accountKey(account)); err != nil || got.Calls != want {
			t.Errorf("before the call %s has spent %+v, %v, want %d calls", account, got, err, want)
		}
	}
	hold.Settle(spend.Usage{Input: 3, Output: 4})
	lost := make(map[string][]byte)
	s.noteWrite(ctx, s.draft(ctx, lost, nil), false)
	put := make(map[string][]byte)
	s.noteWrite(ctx, s.draft(ctx, put, nil), true)
	if len(lost) != 2 || len(put) != 2 {
		t.Errorf("%d totals went with the batch that failed and %d with the next, want 2 each", len(lost), len(put))
	}
}

// A budget that is gone takes no other of its account with it.
func TestForgetLeavesTheNextBudget(t *testing.T) {
	s := newTestAccounts(t)
	b, err := s.Budget(t.Context(), "a", "agent a", unlimited)
	if err != nil {
		t.Fatal(err)
	}
	s.forget("a", new(account))
	if again, err := s.Budget(t.Context(), "a", "agent a", unlimited); err != nil || again != b {
		t.Errorf("there are two budgets of one account, %v", err)
	}
	runtime.KeepAlive(b)
}

// Copied sessions have spent what the first ones had; what one has spent itself
// is not taken back.
func TestCopiedSessionsKeepWhatTheySpent(t *testing.T) {
	s := newTestAccounts(t)
	from, to := tools.NewLife(ucan.DID{}, "a", "1"), tools.NewLife(ucan.DID{}, "b", "1")
	put := func(account string, calls string) {
		t.Helper()
		if _, err := s.space.Apply(t.Context(), nil, map[string][]byte{accountKey(account): []byte(`{"calls":` + calls + `}`)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	put(Of(from, "main"), "3")
	put(Of(from, "other"), "4")
	put(Of(to, "other"), "9")
	if err := s.CopySessions(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	for account, want := range map[string]int64{Of(to, "main"): 3, Of(to, "other"): 9, Of(from, "other"): 4} {
		if got, err := s.Usage(t.Context(), account); err != nil || got.Calls != want {
			t.Errorf("%s has spent %+v, %v, want %d calls", account, got, err, want)
		}
	}
}
