package spend_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"usher/tools/spend"
)

func TestBudgetErrorIsTold(t *testing.T) {
	for _, tc := range []struct {
		err        spend.BudgetError
		text, json string
	}{
		{
			spend.BudgetError{Budget: "run of boss", Kind: "money", Spent: 502_500, Limit: 500_000},
			`budget "run of boss" is spent: 0.5025 of 0.50 money: the owner can raise it`,
			`{"budget":"run of boss","kind":"money","spent":0.5025,"limit":0.50}`,
		},
		{
			spend.BudgetError{Budget: "b", Kind: "tokens", Spent: 7, Held: 10_000, Limit: 10_000},
			`budget "b" is spent: 7 of 10000 tokens, and 10000 held by calls that run now: try again when they have ended: the owner can raise it`,
			`{"budget":"b","kind":"tokens","spent":7,"held":10000,"limit":10000}`,
		},
		{
			spend.BudgetError{Budget: "b", Kind: "calls", Spent: 1, Limit: 1},
			`budget "b" is spent: 1 of 1 call: the owner can raise it`,
			`{"budget":"b","kind":"calls","spent":1,"limit":1}`,
		},
	} {
		raw, err := json.Marshal(&tc.err)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{tc.text, tc.json}, []string{tc.err.Error(), string(raw)}); diff != "" {
			t.Errorf("text and JSON (-want +got):\n%s", diff)
		}
	}
}

func TestBudgetErrorRefusesWhatItDoesNotWrite(t *testing.T) {
	for _, text := range []string{
		`[]`, `{"kind":"money","spent":0.0000001,"limit":1}`, `{"kind":"calls","spent":1.5,"limit":1}`,
		`{"kind":"money","spent":1e3,"limit":1}`, `{"kind":"tokens","spent":9223372036854775808,"limit":1}`,
	} {
		if err := json.Unmarshal([]byte(text), new(spend.BudgetError)); err == nil {
			t.Errorf("%s was read", text)
		}
	}
}

// What is written is read as it was, to the millionth.
func TestBudgetErrorRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.OneOf(rapid.Int64Range(0, math.MaxInt64), rapid.Just[int64](math.MaxInt64))
		want := spend.BudgetError{
			Budget: rapid.String().Draw(t, "budget"), Kind: rapid.SampledFrom([]string{"calls", "tokens", "money"}).Draw(t, "kind"),
			Spent: amount.Draw(t, "spent"), Held: amount.Draw(t, "held"), Limit: amount.Draw(t, "limit"),
		}
		raw, err := json.Marshal(&want)
		if err != nil {
			t.Fatal(err)
		}
		var got spend.BudgetError
		if err := json.Unmarshal(raw, &got); err != nil || got != want {
			t.Fatalf("%s is read as %+v, %v; want %+v", raw, got, err, want)
		}
	})
}
