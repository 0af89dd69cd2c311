package wrap_test

import (
	"context"
	"errors"
	"iter"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"usher/runtime"
	"usher/runtime/endpoint"
	"usher/runtime/wrap"
	"usher/tools/spend"
)

// charged is a metered model whose calls the budgets are charged with.
func charged(m runtime.Model, price *spend.Price, budgets ...*spend.Budget) runtime.Model {
	m = wrap.Meter(m, "m", price)
	return runtime.ModelFunc(func(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
		return m.Generate(runtime.WithBudgets(ctx, budgets...), req)
	})
}

var price = &spend.Price{Input: 2_500_000, Output: 10_000_000, CacheRead: 250_000, CacheWrite: 3_125_000}

func TestBudgetCharges(t *testing.T) {
	x := strings.Repeat("x", 400) // 100 tokens, and one for "user"
	cut := errors.New("cut")
	for _, tc := range []struct {
		name  string
		act   act
		leave bool // after the first chunk
		want  spend.Amount
	}{
		{name: "as reported", act: act{chunks: append(say("hi"), used(1000, 100))}, want: spend.Amount{Calls: 1, Tokens: 1100, Money: 3500}},
		{name: "the last report counts", act: act{chunks: append([]runtime.Chunk{used(1000, 1)}, append(say("hi"), used(1000, 100))...)}, want: spend.Amount{Calls: 1, Tokens: 1100, Money: 3500}},
		{name: "not reported", act: act{chunks: say(x)}, want: spend.Amount{Calls: 1, Tokens: 204, Money: 1260}},
		{name: "reported as nothing", act: act{chunks: append(say(x), used(0, 0))}, want: spend.Amount{Calls: 1, Tokens: 204, Money: 1260}},
		{name: "a negative report is no refund", act: act{chunks: append(say(x), used(-1_000_000, 5))}, want: spend.Amount{Calls: 1, Tokens: 109, Money: 310}},
		{name: "the answer reported as nothing", act: act{chunks: append(say(x), used(1000, 0))}, want: spend.Amount{Calls: 1, Tokens: 1100, Money: 3500}},
		{name: "the request reported as nothing", act: act{chunks: append(say(x), used(0, 5))}, want: spend.Amount{Calls: 1, Tokens: 109, Money: 310}},
		{name: "no answer, and reported so", act: act{chunks: []runtime.Chunk{used(1000, 0)}}, want: spend.Amount{Calls: 1, Tokens: 1000, Money: 2500}},
		{name: "cut", act: act{chunks: []runtime.Chunk{used(500, 1), {Text: x}}, err: cut}, want: spend.Amount{Calls: 1, Tokens: 600, Money: 2250}},
		{name: "left", act: act{chunks: say(x)}, leave: true, want: spend.Amount{Calls: 1, Tokens: 204, Money: 1260}},
		{name: "failed before it answered", act: act{err: cut}, want: spend.Amount{Calls: 1}},
		{name: "given up before it answered", act: act{err: endpoint.ErrTimeout}, want: spend.Amount{Calls: 1, Tokens: 104, Money: 260}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			run, b := spend.NewBudget("run", spend.Limits{}), spend.NewBudget("agent", spend.Limits{Money: 1_000_000})
			m := charged(play(tc.act), price, run, b)
			if tc.leave {
				for range m.Generate(t.Context(), &runtime.Request{Messages: []runtime.Message{{Role: "user", Text: x}}}) {
					break
				}
			} else {
				ask(t.Context(), m, x)
			}
			if diff := cmp.Diff([]spend.Amount{tc.want, tc.want}, []spend.Amount{b.Amount(), run.Amount()}); diff != "" {
				t.Errorf("agent and run (-want +got):\n%s", diff)
			}
		})
	}
}

const more = ": the owner can raise it"

func TestBudgetRefuses(t *testing.T) {
	full := act{chunks: append(say("hi"), used(1000, 100))}
	for _, tc := range []struct {
		name   string
		limits spend.Limits
		price  *spend.Price
		calls  int // that are admitted
		err    string
	}{
		{"calls", spend.Limits{Calls: 2}, nil, 2, `budget "b" is spent: 2 of 2 calls` + more},
		{"tokens, beyond by one call", spend.Limits{Tokens: 1101}, nil, 2, `budget "b" is spent: 2200 of 1101 tokens` + more},
		{"tokens, exactly", spend.Limits{Tokens: 1100}, nil, 1, `budget "b" is spent: 1100 of 1100 tokens` + more},
		{"money", spend.Limits{Money: 7000}, price, 2, `budget "b" is spent: 0.007 of 0.007 money` + more},
		{"no price", spend.Limits{Money: 7000}, nil, 0, `budget "b" limits money, and model "m" has no price: add price to the model`},
		{"nothing at all", spend.Limits{Tokens: -1}, nil, 0, `budget "b" is spent: 0 of 0 tokens` + more},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inner := play(full)
			m := wrap.Retry(charged(inner, tc.price, spend.NewBudget("b", tc.limits)), nil)
			var got answer
			for range 5 {
				got = ask(t.Context(), m, "x")
			}
			if inner.calls != tc.calls || message(got.err) != tc.err {
				t.Errorf("%d calls, then %v; want %d, %q", inner.calls, got.err, tc.calls, tc.err)
			}
		})
	}
}

// Of several budgets each holds, and a call that one refuses is taken back from
// those that had admitted it.
func TestEachBudgetHolds(t *testing.T) {
	run := spend.NewBudget("run", spend.Limits{Calls: 3})
	a, b := spend.NewBudget("a", spend.Limits{Calls: 100}), spend.NewBudget("b", spend.Limits{Calls: 1})
	inner := play(act{chunks: say("hi")})
	for _, tc := range []struct {
		of   *spend.Budget
		want string
	}{
		{b, ""},
		{b, `budget "b" is spent: 1 of 1 call` + more},
		{a, ""},
		{a, ""},
		{a, `budget "run" is spent: 3 of 3 calls` + more},
	} {
		if got := ask(t.Context(), charged(inner, nil, tc.of, run), "x"); message(got.err) != tc.want {
			t.Errorf("call of %+v: %v, want %q", tc.of.Limits(), got.err, tc.want)
		}
	}
	if a.Amount().Calls != 2 || b.Amount().Calls != 1 || run.Amount().Calls != 3 {
		t.Errorf("a, b and run spent %v, %v, %v", a.Amount(), b.Amount(), run.Amount())
	}
}

// A model is metered once, however often that is asked for, and each budget is
// charged once.
func TestMeteredOnce(t *testing.T) {
	b := spend.NewBudget("b", spend.Limits{})
	inner := play(act{chunks: append(say("hi"), used(10, 1))})
	m := wrap.Meter(wrap.Retry(wrap.Meter(inner, "m", price), nil), "outer", nil)
	got := ask(t.Context(), charged(m, nil, b, b), "x")
	if want := (spend.Amount{Calls: 1, Tokens: 11, Money: 35}); b.Amount() != want || got.usage.Cost != 35 {
		t.Errorf("spent %+v, want %+v; the answer cost %d", b.Amount(), want, got.usage.Cost)
	}
	if got := ask(t.Context(), m, "x"); got.err != nil || b.Amount().Calls != 1 {
		t.Errorf("a call of nobody's: %v; spent %+v", got.err, b.Amount())
	}
}

func TestBudgetHoldsForCallsThatRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := spend.NewBudget("b", spend.Limits{Tokens: 25_000})
		inner := play(act{before: time.Second, chunks: append(say("hi"), used(99, 1))})
		m := charged(inner, nil, b)
		x := strings.Repeat("x", 384) // 100 tokens with what frames a message
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { ask(t.Context(), m, x) })
		}
		synctest.Wait()
		if inner.count() != 3 {
			t.Errorf("%d calls admitted at once, want 3", inner.count())
		}
		got := ask(t.Context(), m, x)
		if want := `budget "b" is spent: 0 of 25000 tokens, and 30300 held by calls that run now: try again when they have ended` + more; message(got.err) != want {
			t.Errorf("got %v, want %s", got.err, want)
		}
		wg.Wait()
		if want := (spend.Amount{Calls: 3, Tokens: 300}); b.Amount() != want {
			t.Errorf("spent %+v, want %+v", b.Amount(), want)
		}
	})
}

// Calls at once hold answers too, as large as the largest that is known. What
// is left of a small budget is one call's at a time, not nobody's.
func TestBudgetHoldsAnswers(t *testing.T) {
	for _, tc := range []struct {
		name   string
		limits spend.Limits
		before int // tokens of the answer to an earlier call
		at     int // calls that are admitted at once
	}{
		{"no answer is known", spend.Limits{Tokens: 40_000}, 0, 4},
		{"a small one is known", spend.Limits{Tokens: 40_000}, 10, 4},
		{"a large one is known", spend.Limits{Tokens: 40_000}, 16_000, 2},
		{"money", spend.Limits{Money: 400_000}, 0, 4},
		{"smaller than one answer", spend.Limits{Tokens: 1000}, 0, 1},
		{"hardly anything is left", spend.Limits{Tokens: 16_003}, 16_000, 1},
		{"nothing is limited", spend.Limits{}, 16_000, 32},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := spend.NewBudget("b", tc.limits)
				if tc.before > 0 {
					ask(t.Context(), charged(play(act{chunks: append(say("hi"), used(1, tc.before))}), price, b), "x")
				}
				inner := play(act{before: time.Second, chunks: append(say("hi"), used(1, 1))})
				var wg sync.WaitGroup
				for range 32 {
					wg.Go(func() { ask(t.Context(), charged(inner, price, b), "x") })
				}
				synctest.Wait()
				if inner.count() != tc.at {
					t.Errorf("%d calls admitted at once, want %d", inner.count(), tc.at)
				}
				wg.Wait()
			})
		})
	}
}

// Who may wait is refused only when the budget is spent, when it has waited too
// long, or when nobody wants the answer any more.
func TestBudgetWaits(t *testing.T) {
	const answer = 4 * time.Second // one for each chunk
	const held = ": try again when they have ended" + more
	for _, tc := range []struct {
		name    string
		longest time.Duration
		output  int // of the call that runs, in tokens
		leave   time.Duration
		raise   bool
		after   time.Duration
		err     string
	}{
		{"there is room", time.Minute, 100, 0, false, 2 * answer, ""},
		{"it is spent", time.Minute, 10_000, 0, false, answer, `budget "b" is spent: 10001 of 10000 tokens` + more},
		{"too long", time.Millisecond, 100, 0, false, time.Millisecond, `budget "b" is spent: 0 of 10000 tokens, and 10005 held by calls that run now` + held},
		{"left", time.Minute, 100, time.Millisecond, false, time.Millisecond, context.DeadlineExceeded.Error()},
		{"raised", time.Minute, 100, 0, true, answer, ""},
		{"not at all", 0, 100, 0, false, 0, `budget "b" is spent: 0 of 10000 tokens, and 10005 held by calls that run now` + held},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := spend.NewBudget("b", spend.Limits{Tokens: 10_000})
				b.Wait(tc.longest)
				other := spend.NewBudget("other", spend.Limits{})
				inner := play(act{before: time.Second, chunks: append(say("hi"), used(1, tc.output))})
				m := charged(inner, nil, b)
				var work sync.WaitGroup
				work.Go(func() { ask(t.Context(), m, "x") })
				synctest.Wait()
				ctx, began := t.Context(), time.Now()
				if tc.leave > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tc.leave)
					defer cancel()
				}
				work.Go(func() {
					next := charged(inner, nil, other, b) // other is asked first, and holds nothing meanwhile
					if got := ask(ctx, next, "x"); message(got.err) != tc.err || time.Since(began) != tc.after {
						t.Errorf("after %v: %v; want %q after %v", time.Since(began), got.err, tc.err, tc.after)
					}
				})
				synctest.Wait()
				if tc.raise {
					b.SetLimits(spend.Limits{Tokens: 100_000})
				}
				work.Wait()
			})
		})
	}
}

// A call that one budget refuses leaves nothing held in the others.
func TestBudgetRefusedCallHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := strings.Repeat("x", 384) // 100 tokens with what frames a message
		run, agent := spend.NewBudget("run", spend.Limits{Tokens: 100}), spend.NewBudget("agent", spend.Limits{Tokens: 150})
		m := charged(play(act{chunks: append(say("hi"), used(10, 0))}), nil, agent, run)
		var wg sync.WaitGroup
		wg.Go(func() { ask(t.Context(), charged(play(act{before: time.Second, err: errPlain}), nil, run), x) })
		synctest.Wait()
		for range 3 {
			if got := ask(t.Context(), m, x); !strings.HasPrefix(message(got.err), `budget "run" is spent`) {
				t.Errorf("while the run's is held: %v", got.err)
			}
		}
		wg.Wait()
		if got := ask(t.Context(), m, x); got.err != nil {
			t.Errorf("when it is free again: %v", got.err)
		}
	})
}

func TestBudgetDoesNotOverflow(t *testing.T) {
	b := spend.NewBudget("b", spend.Limits{Money: math.MaxInt64})
	m := charged(play(act{chunks: append(say("hi"), used(math.MaxInt64, math.MaxInt64))}), &spend.Price{Input: math.MaxInt64, Output: math.MaxInt64}, b)
	ask(t.Context(), m, "x")
	if got := ask(t.Context(), m, "x"); got.err == nil || b.Amount().Money != math.MaxInt64 {
		t.Errorf("second call: %v; spent %+v", got.err, b.Amount())
	}
}

// One call after the other, no budget goes beyond its limit by more than one
// call, and each has spent what its calls did.
func TestBudgetProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := rapid.Custom(func(t *rapid.T) spend.Limits {
			return spend.Limits{
				Calls: rapid.Int64Range(0, 8).Draw(t, "calls"), Tokens: rapid.Int64Range(0, 5000).Draw(t, "tokens"),
				Money: spend.Money(rapid.Int64Range(0, 20000).Draw(t, "money")),
			}
		})
		var all []spend.Limits
		var family []*spend.Budget
		for range rapid.IntRange(1, 6).Draw(t, "budgets") {
			l := limits.Draw(t, "limits")
			all, family = append(all, l), append(family, spend.NewBudget("b", l))
		}
		sums := make([]spend.Amount, len(family))
		most := spend.Amount{} // of one call
		for range rapid.IntRange(1, 20).Draw(t, "turns") {
			in, out := rapid.IntRange(1, 2000).Draw(t, "in"), rapid.IntRange(1, 500).Draw(t, "out")
			first := rapid.IntRange(0, len(family)-1).Draw(t, "first")
			of := family[first:]
			got := ask(context.Background(), charged(play(act{chunks: append(say("hi"), used(in, out))}), price, of...), "x")
			if got.err != nil {
				continue
			}
			cost := spend.Amount{Calls: 1, Tokens: int64(in + out), Money: spend.Money((in*25+9)/10 + out*10)}
			most = spend.Amount{Calls: 1, Tokens: max(most.Tokens, cost.Tokens), Money: max(most.Money, cost.Money)}
			for i := first; i < len(sums); i++ {
				sums[i].Calls++
				sums[i].Tokens += cost.Tokens
				sums[i].Money += cost.Money
			}
		}
		for i, b := range family {
			s, l := b.Amount(), all[i]
			if s != sums[i] {
				t.Fatalf("budget %d spent %+v, its calls %+v", i, s, sums[i])
			}
			if l.Calls > 0 && s.Calls > l.Calls || l.Tokens > 0 && s.Tokens >= l.Tokens+most.Tokens || l.Money > 0 && s.Money >= l.Money+most.Money {
				t.Fatalf("budget %d spent %+v of %+v; the dearest call was %+v", i, s, l, most)
			}
		}
	})
}

// What ends gives back its own hold and no other's.
func TestBudgetHoldsOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := spend.NewBudget("run", spend.Limits{Calls: 2})
		inner := play(act{before: time.Hour, chunks: say("slow")}, act{chunks: say("quick")})
		m := charged(inner, nil, b)
		done := make(chan answer, 1)
		go func() { done <- ask(t.Context(), m, "x") }()
		synctest.Wait()
		if got := ask(t.Context(), m, "x"); got.text != "quick" || got.err != nil {
			t.Errorf("beside one that runs: %q, %v", got.text, got.err)
		}
		if got := ask(t.Context(), m, "x"); inner.count() != 2 || got.err == nil {
			t.Errorf("a third call of two: %q, %v", got.text, got.err)
		}
		if got := <-done; got.err != nil {
			t.Error(got.err)
		}
	})
}

// However often there is new room that is not enough, a call waits no longer
// than it may in all.
func TestBudgetWaitsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := spend.NewBudget("run", spend.Limits{Calls: 1})
		b.Wait(time.Minute)
		m := charged(play(act{hang: true}), nil, b)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{}, 2)
		go func() { ask(ctx, m, "x"); done <- struct{}{} }()
		synctest.Wait()
		go func() { // raises it to what it was
			for range 4 {
				time.Sleep(40 * time.Second)
				b.SetLimits(spend.Limits{Calls: 1})
			}
			done <- struct{}{}
		}()
		began := time.Now()
		got := ask(t.Context(), m, "x")
		if _, ok := errors.AsType[*spend.BudgetError](got.err); !ok || time.Since(began) != time.Minute {
			t.Errorf("after %s: %v", time.Since(began), got.err)
		}
		stop()
		<-done
		<-done
	})
}

// Contexts that come of one have each its own budgets beside those of that one.
func TestBudgetsOfContextsStayApart(t *testing.T) {
	var budgets []*spend.Budget
	ctx := t.Context()
	for range 3 {
		budgets = append(budgets, spend.NewBudget("both", spend.Limits{}))
		ctx = runtime.WithBudgets(ctx, budgets[len(budgets)-1])
	}
	left, right := spend.NewBudget("left", spend.Limits{}), spend.NewBudget("right", spend.Limits{})
	one, other := runtime.WithBudgets(ctx, left), runtime.WithBudgets(ctx, right)
	m := wrap.Meter(play(act{chunks: say("hi")}), "m", nil)
	ask(one, m, "x")
	ask(one, m, "x")
	ask(other, m, "x")
	for i, b := range append(budgets, left, right) {
		if want := []int64{3, 3, 3, 2, 1}[i]; b.Amount().Calls != want {
			t.Errorf("budget %d has spent %d calls, want %d", i, b.Amount().Calls, want)
		}
	}
}
