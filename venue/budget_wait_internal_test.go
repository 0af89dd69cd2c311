package venue

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"usher/runtime"
	"usher/runtime/offline"
	"usher/runtime/wrap"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/spend"
	"usher/venue/accounts"
	"usher/venue/store/memory"
)

// Where only what others hold leaves no room, a call waits: of whatever budget.
func TestACallWaitsForWhatOthersHold(t *testing.T) {
	one := spend.Limits{Calls: 1}
	for name, bound := range map[string]func() context.Context{
		"run": func() context.Context {
			v, err := Open(t.Context(), &Options{Models: map[string]runtime.Model{"default": offline.Model{}}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = v.Close() })
			alice, err := v.User(t.Context(), "alice")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := alice.CreateAgent(t.Context(), agents.Spec{ID: "boss", Budgets: &agents.Budgets{Run: one}}); err != nil {
				t.Fatal(err)
			}
			a, err := v.agents.get(t.Context(), agentKey{alice.DID(), "boss"})
			if err != nil {
				t.Fatal(err)
			}
			ctx, err := v.bounded(t.Context(), a, "main")
			if err != nil {
				t.Fatal(err)
			}
			return ctx
		},
		"task": func() context.Context {
			return ofTask(t.Context(), tools.Call{}, agents.Task{Agent: "kid", Budget: one})
		},
		"account": func() context.Context {
			b, err := accounts.New(memory.Open().Under(""), slog.New(slog.DiscardHandler)).Budget(t.Context(), "a", "agent a", func() spend.Limits { return one })
			if err != nil {
				t.Fatal(err)
			}
			return runtime.WithBudgets(t.Context(), b)
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, m := bound(), wrap.Metered(offline.Model{}, "m", nil)
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

// Who set a budget cannot be told from a record that cannot be read.
func TestASetterThatCannotBeRead(t *testing.T) {
	v, err := Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.Close() })
	key := agentKey{v.DID(), "setter"}
	if _, err := v.agents.space.Apply(t.Context(), nil, map[string][]byte{recordKey(key): []byte("{")}, nil); err != nil {
		t.Fatal(err)
	}
	by := bound{agentKey{key.owner, "boss"}, "1"}
	if set, err := v.agents.hasSet(t.Context(), by, bound{key, "1"}); err == nil || set {
		t.Errorf("hasSet() = %t, %v, want an error", set, err)
	}
}
