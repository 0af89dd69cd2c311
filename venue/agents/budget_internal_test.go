package agents

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"

	"usher/runtime"
	"usher/runtime/offline"
	"usher/runtime/wrap"
	"usher/tools/agents"
	"usher/tools/spend"
	"usher/ucan"
	"usher/venue/accounts"
	"usher/venue/runs"
	"usher/venue/store/memory"
)

func newTestRoom(t *testing.T) (*Room, key) {
	t.Helper()
	st := memory.Open()
	t.Cleanup(func() { _ = st.Close() })
	owner, err := ucan.KeyFromSeed(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return New(Options{Book: NewBook(st.Under("g/")), Accounts: accounts.New(st.Under(""), slog.New(slog.DiscardHandler))}), key{owner.DID(), "boss"}
}

// Where only what others hold leaves no room, a call waits: of whatever budget.
func TestACallWaitsForWhatOthersHold(t *testing.T) {
	one := spend.Limits{Calls: 1}
	bounded := func(budgets agents.Budgets, task *spend.Limits) context.Context {
		r, k := newTestRoom(t)
		rec := &record{Status: agents.Sleeping, Life: "1", Config: agents.Spec{Budgets: &budgets}}
		if _, err := r.Book.put(t.Context(), nil, k, rec); err != nil {
			t.Fatal(err)
		}
		ctx, err := r.withTurnBudgets(t.Context(), k, "main", &runs.Part{Record: runs.Record{ID: "1", Limits: task}})
		if err != nil {
			t.Fatal(err)
		}
		return ctx
	}
	for name, bound := range map[string]func() context.Context{
		"run":  func() context.Context { return bounded(agents.Budgets{Run: one}, nil) },
		"task": func() context.Context { return bounded(agents.Budgets{}, &one) },
		"account": func() context.Context {
			r, _ := newTestRoom(t)
			b, err := r.Accounts.Budget(t.Context(), "a", "agent a", func() spend.Limits { return one })
			if err != nil {
				t.Fatal(err)
			}
			return runtime.WithBudgets(t.Context(), b)
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, m := bound(), wrap.Meter(offline.Model{}, "m", nil)
			left := errors.New("left")
			leaving, leave := context.WithCancelCause(ctx)
			leave(left)
			for _, err := range m.Generate(ctx, &runtime.Request{}) {
				if err != nil {
					t.Fatal(err)
				}
				for _, err := range m.Generate(leaving, &runtime.Request{}) { // as long as it is listened to
					if !errors.Is(err, left) {
						t.Errorf("beside a call that holds the rest: %v, want that it waits", err)
					}
				}
			}
			for _, err := range m.Generate(ctx, &runtime.Request{}) {
				if _, spent := errors.AsType[*spend.BudgetError](err); !spent {
					t.Errorf("after it: %v, want that the budget is spent", err)
				}
			}
		})
	}
}
