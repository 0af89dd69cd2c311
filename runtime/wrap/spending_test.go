package wrap_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	goruntime "runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
	"usher/runtime/wrap"
)

// However metered models are stacked, the cost is said once and charged once.
func TestCostPasses(t *testing.T) {
	dear := &wrap.Price{Input: 100_000_000, Output: 100_000_000}
	hi := act{chunks: append(say("hi"), used(1000, 100))}
	for _, tc := range []struct {
		name  string
		stack func(own *wrap.Budget, m runtime.Model) runtime.Model
		want  int64
	}{
		{"priced", func(own *wrap.Budget, m runtime.Model) runtime.Model { return own.Model(m, "m", price) }, 3500},
		{"priced below", func(own *wrap.Budget, m runtime.Model) runtime.Model {
			return own.Model(wrap.Retry(wrap.Metered(m, "m", price), nil), "m", nil)
		}, 3500},
		{"priced above", func(own *wrap.Budget, m runtime.Model) runtime.Model {
			return own.Model(wrap.Metered(m, "m", nil), "m", price)
		}, 3500},
		{"priced twice, the nearer knows", func(own *wrap.Budget, m runtime.Model) runtime.Model {
			return own.Model(wrap.Metered(m, "m", price), "m", dear)
		}, 3500},
		{"free of charge is a price too", func(own *wrap.Budget, m runtime.Model) runtime.Model {
			return own.Model(wrap.Metered(m, "m", &wrap.Price{}), "m", dear)
		}, 0},
		{"two answers of different prices", func(own *wrap.Budget, m runtime.Model) runtime.Model {
			cut := play(act{chunks: []runtime.Chunk{used(10, 0)}, err: errPlain})
			return own.Model(wrap.Fallback(wrap.Metered(cut, "cut", dear), wrap.Metered(m, "m", price)), "m", nil)
		}, 1000 + 3500},
	} {
		t.Run(tc.name, func(t *testing.T) {
			own := wrap.NewBudget("own", wrap.BudgetLimits{Money: 1_000_000})
			run := wrap.NewBudget("run", wrap.BudgetLimits{Money: 1_000_000})
			got := ask(wrap.WithBudget(t.Context(), run), tc.stack(own, play(hi)), "x")
			if got.err != nil || got.usage.Cost != tc.want || own.Spent().Money != tc.want || run.Spent().Money != tc.want {
				t.Errorf("cost %d, %v; own spent %+v, run %+v; want %d", got.usage.Cost, got.err, own.Spent(), run.Spent(), tc.want)
			}
		})
	}
}

// A model that nobody knows the price of cannot hide behind one that has one.
func TestNoPriceBelow(t *testing.T) {
	inner := play(act{chunks: say("hi")})
	below := wrap.Fallback(wrap.Metered(play(act{err: errPlain}), "first", price), wrap.Metered(inner, "second", nil))
	got := ask(t.Context(), wrap.NewBudget("run", wrap.BudgetLimits{Money: 1_000_000}).Model(below, "m", nil), "x")
	unpriced, ok := errors.AsType[*wrap.PriceError](got.err)
	if !ok || *unpriced != (wrap.PriceError{Budget: "run", Model: "second"}) || unpriced.Code() != "no_price" || inner.calls != 0 {
		t.Errorf("got %v after %d calls", got.err, inner.calls)
	}
}

// What was there already costs nothing, whoever stands around it.
func TestKeptAnswersAreFree(t *testing.T) {
	hi := act{chunks: append(say("hi"), used(1000, 100))}
	once := wrap.Spent{Calls: 1, Tokens: 1100, Money: 3500}
	cached := wrap.Cache(wrap.Metered(play(hi), "m", price), nil)
	var cassette bytes.Buffer
	ask(t.Context(), wrap.Record(wrap.Metered(play(hi), "m", price), &cassette, nil), "x")
	player, err := wrap.Replay(&cassette, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		model runtime.Model
		price *wrap.Price
		asks  int
		want  wrap.Spent
		usage runtime.Usage
	}{
		{"cached", cached, nil, 3, once, runtime.Usage{}},
		{"replayed", player, &wrap.Price{Input: 9_000_000}, 1, wrap.Spent{}, runtime.Usage{Input: 1000, Output: 100, Cost: 3500}},
		{"refused by the cassette", player, nil, 1, wrap.Spent{}, runtime.Usage{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			own := wrap.NewBudget("own", wrap.BudgetLimits{})
			var last [2]wrap.Spent
			own.OnSpent(func(spent, held wrap.Spent) { last = [2]wrap.Spent{spent, held} })
			run := wrap.NewBudget("run", wrap.BudgetLimits{})
			var got answer
			for range tc.asks {
				got = ask(wrap.WithBudget(t.Context(), run), own.Model(wrap.Metered(tc.model, "m", nil), "m", tc.price), "x")
			}
			if got.usage != tc.usage {
				t.Errorf("usage %+v, want %+v", got.usage, tc.usage)
			}
			if diff := cmp.Diff([]wrap.Spent{tc.want, tc.want}, []wrap.Spent{own.Spent(), run.Spent()}); diff != "" || last != [2]wrap.Spent{tc.want} {
				t.Errorf("told %+v at last; own and run spent (-want +got):\n%s", last, diff)
			}
		})
	}
}

// Nor does its length say how long the answers are that cost something.
func TestAKeptAnswerHoldsNothing(t *testing.T) {
	var cassette bytes.Buffer
	ask(t.Context(), wrap.Record(play(act{chunks: append(say("hi"), used(10, 50_000))}), &cassette, nil), "x")
	player, err := wrap.Replay(&cassette, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := wrap.NewBudget("b", wrap.BudgetLimits{Tokens: 30_000})
	if got := ask(t.Context(), b.Model(player, "kept", nil), "x"); got.err != nil || got.usage.Output != 50_000 {
		t.Fatalf("the kept answer is %+v", got)
	}
	m := b.Model(play(act{chunks: append(say("hi"), used(10, 1))}), "m", nil)
	for _, err := range m.Generate(t.Context(), &runtime.Request{}) {
		if err != nil {
			t.Fatal(err)
		}
		if got := ask(t.Context(), m, "beside it"); got.err != nil {
			t.Errorf("there is room for two answers: %v", got.err)
		}
	}
}

func TestFollowersOfACallAreNotCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := play(act{before: time.Second, chunks: append(say("hi"), used(1000, 100))})
		cached := wrap.Cache(inner, nil)
		first, second := wrap.NewBudget("first", wrap.BudgetLimits{}), wrap.NewBudget("second", wrap.BudgetLimits{})
		var wg sync.WaitGroup
		wg.Go(func() { ask(t.Context(), first.Model(cached, "m", price), "x") })
		synctest.Wait()
		wg.Go(func() { ask(t.Context(), second.Model(cached, "m", price), "x") })
		wg.Wait()
		if first.Spent() != (wrap.Spent{Calls: 1, Tokens: 1100, Money: 3500}) || second.Spent() != (wrap.Spent{}) {
			t.Errorf("first spent %+v, second %+v", first.Spent(), second.Spent())
		}
	})
}

// Whoever is told of what was spent is told before a call is made what it may
// cost, and the largest total last, before the answer that made it so has ended.
func TestOnSpent(t *testing.T) {
	b := wrap.NewBudget("b", wrap.BudgetLimits{})
	b.Resume(wrap.Spent{Calls: 5, Tokens: 500, Money: 50})
	var told []wrap.Spent
	var most int64
	var inside, heard atomic.Int32
	b.OnSpent(func(total, held wrap.Spent) {
		if inside.Add(1) != 1 {
			t.Error("two are told at once")
			return
		}
		defer inside.Add(-1)
		for range 20 {
			goruntime.Gosched() // lets the others settle meanwhile
		}
		told = append(told, total)
		heard.Add(1)
		most = max(most, total.Calls+held.Calls)
		if now := b.Spent(); now.Calls < total.Calls {
			t.Errorf("told %+v, and %+v is spent", total, now)
		}
	})
	inner := runtime.ModelFunc(func(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
		if heard.Load() == 0 {
			t.Error("the model is asked, and nobody has been told that it would be")
		}
		return play(act{chunks: append(say("hi"), used(10, 1))}).Generate(ctx, req)
	})
	m := b.Model(inner, "m", &wrap.Price{Input: 1_000_000})
	if got := ask(t.Context(), m, "x"); got.err != nil || len(told) != 2 || told[0].Calls != 5 || most != 6 {
		t.Errorf("%v; told %+v, and %d calls with those that run", got.err, told, most)
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if got := ask(t.Context(), m, "x"); got.err != nil {
				t.Error(got.err)
			}
		})
	}
	wg.Wait()
	want := wrap.Spent{Calls: 26, Tokens: 731, Money: 260}
	if len(told) != 42 || told[41] != want || b.Spent() != want || most > want.Calls {
		t.Errorf("told %d times, at last %+v; spent %+v, want %+v", len(told), told[len(told)-1], b.Spent(), want)
	}
	if !slices.IsSortedFunc(told, func(a, b wrap.Spent) int { return int(a.Tokens - b.Tokens) }) {
		t.Errorf("told %+v", told)
	}
}

func TestBudgetIsRaised(t *testing.T) {
	b := wrap.NewBudget("b", wrap.BudgetLimits{Calls: 2})
	b.Resume(wrap.Spent{Calls: 2})
	m := b.Model(play(act{chunks: say("hi")}), "m", nil)
	got := ask(t.Context(), m, "x")
	spent, ok := errors.AsType[*wrap.BudgetError](got.err)
	if !ok || *spent != (wrap.BudgetError{Budget: "b", Kind: "calls", Spent: 2, Limit: 2}) || spent.Code() != "budget_spent" {
		t.Fatalf("got %v", got.err)
	}
	b.SetLimits(wrap.BudgetLimits{Calls: 3})
	if got := ask(t.Context(), m, "x"); got.err != nil || b.Limits().Calls != 3 {
		t.Errorf("when it is raised: %v", got.err)
	}
}

func TestCarryBudgets(t *testing.T) {
	a, b, c := wrap.NewBudget("a", wrap.BudgetLimits{}), wrap.NewBudget("b", wrap.BudgetLimits{}), wrap.NewBudget("c", wrap.BudgetLimits{})
	from, cancel := context.WithCancel(wrap.WithBudget(wrap.WithBudget(t.Context(), a), b))
	cancel()
	to := wrap.CarryBudgets(wrap.WithBudget(wrap.WithBudget(t.Context(), b), c), from)
	m := wrap.Metered(play(act{chunks: say("hi")}), "m", nil)
	if got := ask(to, m, "x"); got.err != nil {
		t.Fatal(got.err)
	}
	for _, budget := range []*wrap.Budget{a, b, c} {
		if budget.Spent().Calls != 1 {
			t.Errorf("%s spent %+v, want one call", budget.Name(), budget.Spent())
		}
	}
	if got := wrap.CarryBudgets(t.Context(), t.Context()); wrap.BudgetFrom(got) != nil {
		t.Error("there are budgets out of nothing")
	}
}
