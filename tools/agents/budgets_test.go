package agents

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"usher/tools/spend"
)

func decodeSpec(text string) (spec Spec, err error) {
	err = json.Unmarshal([]byte(text), &spec)
	return spec, err
}

func TestDecodeBudgets(t *testing.T) {
	const written = `{"run":{"calls":20,"money":0.50},"session":{"money":2.00},"agent":{"tokens":1000000}}`
	spec, err := decodeSpec(`{"budgets":` + written + `}`)
	if err != nil {
		t.Fatal(err)
	}
	want := &Budgets{Run: spend.Limits{Calls: 20, Money: 500_000}, Session: spend.Limits{Money: 2_000_000}, Agent: spend.Limits{Tokens: 1_000_000}}
	if diff := cmp.Diff(want, spec.Budgets); diff != "" {
		t.Errorf("budgets (-want +got):\n%s", diff)
	}
	if raw, err := json.Marshal(spec.Budgets); err != nil || string(raw) != written {
		t.Errorf("printed as %s, %v, want %s", raw, err, written)
	}
	for text, want := range map[string]*Budgets{`{}`: nil, `{"budgets":{}}`: {}, `{"budgets":{"run":{"money":1}}}`: {Run: spend.Limits{Money: 1_000_000}}} {
		if spec, err := decodeSpec(text); err != nil || !cmp.Equal(want, spec.Budgets) {
			t.Errorf("decodeSpec(%s) = %+v, %v, want %+v", text, spec.Budgets, err, want)
		}
	}
}

func TestDecodeBudgetsRefuses(t *testing.T) {
	for budgets, want := range map[string]string{
		`null`:                          "budgets is null here: write an object",
		`5`:                             "budgets is a number here: write an object",
		`[]`:                            "budgets is a list here: write an object",
		`{"sesion":{"calls":1}}`:        `did you mean "session"?`,
		`{"run":null}`:                  "budgets: the run budget is null here: write an object",
		`{"run":{}}`:                    "budgets: the run budget is empty: write for example run: ",
		`{"run":{"token":1}}`:           `did you mean "tokens"?`,
		`{"run":{"Calls":1}}`:           `unknown key "Calls"`,
		`{"run":{"calls":0}}`:           "budgets.run: calls is 0: write a whole number above 0",
		`{"run":{"calls":-1}}`:          "calls is -1",
		`{"run":{"calls":-0}}`:          "calls is -0",
		`{"run":{"calls":1.0}}`:         "calls is 1.0",
		`{"run":{"calls":1e2}}`:         "calls is 1e2",
		`{"run":{"calls":"1"}}`:         "calls is text: write a whole number above 0",
		`{"run":{"calls":null}}`:        "calls is null",
		`{"run":{"calls":1,"calls":2}}`: "twice",
		`{"agent":{"tokens":9999999999999999999}}`:   "tokens is 9999999999999999999",
		`{"agent":{"money":0.00}}`:                   "money is 0.00: write an amount above 0",
		`{"agent":{"money":-0.50}}`:                  "money: ",
		`{"agent":{"money":"0.50"}}`:                 "money: ",
		`{"agent":{"money":5e-1}}`:                   "money: ",
		`{"agent":{"money":0.0000001}}`:              "at most 6",
		`{"agent":{"money":99999999999999999999.0}}`: "at most 12 digits",
	} {
		_, err := decodeSpec(`{"budgets":` + budgets + `}`)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("budgets %s: %v, want an error with %q", budgets, err, want)
		}
	}
}

// drawBudgets makes budgets of small limits, some of them none.
func drawBudgets(t *rapid.T, label string) *Budgets {
	if rapid.Bool().Draw(t, label+" is nil") {
		return nil
	}
	limit := rapid.Int64Range(0, 3)
	b := new(Budgets)
	for _, name := range budgetNames {
		*b.Find(name) = spend.Limits{Calls: limit.Draw(t, label+"."+name), Tokens: limit.Draw(t, label), Money: spend.Money(limit.Draw(t, label))}
	}
	return b
}

// What is not looser admits nothing that was refused before.
func TestLooserMeansThatMoreIsAdmitted(t *testing.T) {
	admits := func(b *Budgets, name string, spent spend.Limits) bool {
		if b == nil {
			return true
		}
		l := b.Find(name)
		return (l.Calls == 0 || spent.Calls < l.Calls) && (l.Tokens == 0 || spent.Tokens < l.Tokens) && (l.Money == 0 || spent.Money < l.Money)
	}
	rapid.Check(t, func(t *rapid.T) {
		old, next := drawBudgets(t, "old"), drawBudgets(t, "next")
		more := false
		for _, name := range budgetNames {
			for kind := range 3 {
				for n := range int64(5) { // one kind alone, so that each limit is seen
					amount := [3]int64{}
					amount[kind] = n
					spent := spend.Limits{Calls: amount[0], Tokens: amount[1], Money: spend.Money(amount[2])}
					more = more || !admits(old, name, spent) && admits(next, name, spent)
				}
			}
		}
		if got := next.Looser(old); (got != "") != more {
			t.Errorf("%+v.Looser(%+v) = %q, want it to be so: %v", next, old, got, more)
		}
	})
}
