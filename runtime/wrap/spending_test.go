package wrap_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
	"usher/runtime/wrap"
	"usher/tools/spend"
)

// A model that nobody knows the price of cannot hide behind one that has one.
func TestNoPriceBelow(t *testing.T) {
	inner := play(act{chunks: say("hi")})
	below := wrap.Fallback(wrap.Meter(play(act{err: errPlain}), "first", price), wrap.Meter(inner, "second", nil))
	got := ask(t.Context(), charged(below, nil, spend.NewBudget("run", spend.Limits{Money: 1_000_000})), "x")
	unpriced, ok := errors.AsType[*spend.PriceError](got.err)
	if !ok || *unpriced != (spend.PriceError{Budget: "run", Model: "second"}) || unpriced.Code() != "no_price" || inner.calls != 0 {
		t.Errorf("got %v after %d calls", got.err, inner.calls)
	}
}

// Each of two answers is charged at its own model's price.
func TestTwoPrices(t *testing.T) {
	dear := &spend.Price{Input: 100_000_000, Output: 100_000_000}
	cut := play(act{chunks: []runtime.Chunk{used(10, 0)}, err: errPlain})
	hi := play(act{chunks: append(say("hi"), used(1000, 100))})
	own := spend.NewBudget("own", spend.Limits{Money: 1_000_000})
	got := ask(t.Context(), charged(wrap.Fallback(wrap.Meter(cut, "cut", dear), wrap.Meter(hi, "m", price)), nil, own), "x")
	if got.err != nil || got.usage.Cost != 1000+3500 || own.Amount().Money != 1000+3500 {
		t.Errorf("cost %d, %v; spent %+v", got.usage.Cost, got.err, own.Amount())
	}
}

// What was there already costs nothing, whoever stands around it.
func TestKeptAnswersAreFree(t *testing.T) {
	hi := act{chunks: append(say("hi"), used(1000, 100))}
	once := spend.Amount{Calls: 1, Tokens: 1100, Money: 3500}
	cached := wrap.Cache(wrap.Meter(play(hi), "m", price), nil)
	var cassette bytes.Buffer
	ask(t.Context(), wrap.Record(wrap.Meter(play(hi), "m", price), &cassette, nil), "x")
	player, err := wrap.Replay(&cassette, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		model runtime.Model
		price *spend.Price
		asks  int
		want  spend.Amount
		usage runtime.Usage
	}{
		{"cached", cached, nil, 3, once, runtime.Usage{}},
		{"replayed", player, &spend.Price{Input: 9_000_000}, 1, spend.Amount{}, runtime.Usage{Input: 1000, Output: 100, Cost: 3500}},
		{"refused by the cassette", player, nil, 1, spend.Amount{}, runtime.Usage{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			own := spend.NewBudget("own", spend.Limits{})
			var got answer
			for range tc.asks {
				got = ask(t.Context(), charged(tc.model, tc.price, own), "x")
			}
			if got.usage != tc.usage {
				t.Errorf("usage %+v, want %+v", got.usage, tc.usage)
			}
			if own.Amount() != tc.want || own.Total() != tc.want {
				t.Errorf("spent %+v, with holds %+v, want %+v", own.Amount(), own.Total(), tc.want)
			}
		})
	}
}

// Whoever keeps budgets is called before each call is made, and finds in them
// what it may cost.
func TestKeeper(t *testing.T) {
	b := spend.NewAccount("b", "b", spend.Limits{}, spend.Amount{Calls: 5, Tokens: 500, Money: 50})
	var kept []int64
	ctx := runtime.WithKeeper(t.Context(), func(ctx context.Context) {
		kept = append(kept, runtime.Budgets(ctx)[0].Total().Calls)
	}, b)
	inner := runtime.ModelFunc(func(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
		if len(kept) == 0 {
			t.Error("the model is asked, and nobody has written that it would be")
		}
		return play(act{chunks: append(say("hi"), used(10, 1))}).Generate(ctx, req)
	})
	for range 2 {
		if got := ask(ctx, wrap.Meter(inner, "m", &spend.Price{Input: 1_000_000}), "x"); got.err != nil {
			t.Fatal(got.err)
		}
	}
	if diff := cmp.Diff([]int64{6, 7}, kept); diff != "" {
		t.Errorf("calls that were kept (-want +got):\n%s", diff)
	}
	if want := (spend.Amount{Calls: 7, Tokens: 522, Money: 70}); b.Amount() != want || b.Total() != want {
		t.Errorf("spent %+v, with holds %+v, want %+v", b.Amount(), b.Total(), want)
	}
}

func TestBudgetIsRaised(t *testing.T) {
	b := spend.NewAccount("b", "b", spend.Limits{Calls: 2}, spend.Amount{Calls: 2})
	m := charged(play(act{chunks: say("hi")}), nil, b)
	got := ask(t.Context(), m, "x")
	spent, ok := errors.AsType[*spend.BudgetError](got.err)
	if !ok || *spent != (spend.BudgetError{Budget: "b", Kind: "calls", Spent: "2", Limit: "2"}) || spent.Code() != "budget_spent" {
		t.Fatalf("got %v", got.err)
	}
	b.SetLimits(spend.Limits{Calls: 3})
	if got := ask(t.Context(), m, "x"); got.err != nil || b.Limits().Calls != 3 {
		t.Errorf("when it is raised: %v", got.err)
	}
}
