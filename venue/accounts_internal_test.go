package venue

import (
	"context"
	"iter"
	"log/slog"
	"runtime"
	"testing"

	usher "usher/runtime"
	"usher/runtime/wrap"
	"usher/venue/store"
)

// answering is a model that answers at once.
type answering struct{}

func (answering) Generate(context.Context, *usher.Request) iter.Seq2[usher.Chunk, error] {
	return func(yield func(usher.Chunk, error) bool) {
		yield(usher.Chunk{Text: "yes", Usage: &usher.Usage{Input: 3, Output: 4}}, nil)
	}
}

func newTestAccounts(t *testing.T) *accounts {
	t.Helper()
	st, err := store.Open("", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return newAccounts(st.Under("b/"), slog.New(slog.DiscardHandler))
}

func unlimited() wrap.BudgetLimits { return wrap.BudgetLimits{} }

func ask(t *testing.T, b *wrap.Budget) {
	t.Helper()
	for _, err := range wrap.Metered(answering{}, "m", nil).Generate(wrap.WithBudget(t.Context(), b), &usher.Request{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// While anything can charge a budget it is the only one of its account, and
// when nothing can any more it is kept in the store alone.
func TestOneBudgetForEachAccount(t *testing.T) {
	s := newTestAccounts(t)
	get := func() *wrap.Budget {
		t.Helper()
		b, err := s.budget(t.Context(), "a", "agent a", unlimited)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	func() {
		b := get()
		ask(t, b)
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
	if got := get().Spent(); got != (wrap.Spent{Calls: 1, Tokens: 7}) {
		t.Errorf("read again it has spent %+v", got)
	}
}

func TestRemovedAccountsStayRemoved(t *testing.T) {
	s := newTestAccounts(t)
	of := bound{agentKey{id: "a"}, "1"}
	var budgets []*wrap.Budget
	for _, account := range []string{of.String(), accountOf(of, "main"), accountOf(of, "other"), of.String() + "2"} {
		b, err := s.budget(t.Context(), account, account, unlimited)
		if err != nil {
			t.Fatal(err)
		}
		ask(t, b)
		budgets = append(budgets, b)
	}
	if err := s.remove(t.Context(), of); err != nil {
		t.Fatal(err)
	}
	for _, b := range budgets {
		ask(t, b) // of turns that had begun
	}
	for i, b := range budgets {
		want := wrap.Spent{}
		if i == 3 {
			want = wrap.Spent{Calls: 2, Tokens: 14}
		}
		if got, err := s.read(t.Context(), b.Name()); err != nil || got != want {
			t.Errorf("%s has spent %+v, %v, want %+v", b.Name(), got, err, want)
		}
	}
}
