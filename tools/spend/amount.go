package spend

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"

	"usher/caps/value"
	"usher/tools/form"
)

// Amount is what calls of models used together.
type Amount struct {
	Calls  int64 `json:"calls"`
	Tokens int64 `json:"tokens"` // input and output together
	Money  Money `json:"money"`  // in the currency of the models' prices
}

// MarshalJSON writes the amount: each turn stores a few.
func (a Amount) MarshalJSON() ([]byte, error) {
	w := value.NewWriter()
	w.Int("calls", a.Calls)
	w.Int("tokens", a.Tokens)
	var room [32]byte
	w.Raw("money", a.Money.append(room[:0]))
	return w.Object(), nil
}

// plus returns the sum. A sum beyond measure is the largest number: one that
// wrapped around would be a refund.
func (a Amount) plus(b Amount) Amount {
	return Amount{plus(a.Calls, b.Calls), plus(a.Tokens, b.Tokens), Money(plus(int64(a.Money), int64(b.Money)))}
}

// minus stops at nothing: less would let a call too many in.
func (a Amount) minus(b Amount) Amount {
	return Amount{max(a.Calls-b.Calls, 0), max(a.Tokens-b.Tokens, 0), max(a.Money-b.Money, 0)}
}

func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Limits are what may be spent, of each kind. 0 is no limit of that kind; a
// negative limit admits nothing.
type Limits struct {
	Calls  int64 `json:"calls,omitempty" example:"20" jsonschema:"Calls of a model."`
	Tokens int64 `json:"tokens,omitempty" example:"20" jsonschema:"Input and output together."`
	Money  Money `json:"money,omitempty" kind:"number" want:"an amount above 0" example:"0.50" jsonschema:"In the currency of the models' prices, with at most six decimal places: 0.50."`
}

// kinds are what is counted, in the order of [Amount.kinds].
var kinds = [...]string{"calls", "tokens", "money"}

func (a Amount) kinds() [len(kinds)]int64 { return [...]int64{a.Calls, a.Tokens, int64(a.Money)} }

// display returns how much of a kind n is, as people write it.
func display(kind int, n int64) json.Number {
	if kinds[kind] == "money" {
		return json.Number(Money(n).String())
	}
	return json.Number(strconv.FormatInt(n, 10))
}

// Looser names the kind of which l allows more than old, or "".
func (l Limits) Looser(old Limits) string {
	next := Amount(l).kinds()
	for i, was := range Amount(old).kinds() {
		if was != 0 && (next[i] == 0 || next[i] > was) {
			return kinds[i]
		}
	}
	return ""
}

// UnmarshalJSON reads strictly: a limit that is not understood would not be
// enforced.
func (l *Limits) UnmarshalJSON(data []byte) error {
	*l = Limits{}
	if err := form.Unmarshal(data, l); err != nil {
		return err
	}
	if *l == (Limits{}) {
		return errors.New(`it is empty: write for example {"calls": 20, "money": 0.50}, or leave it out`)
	}
	return nil
}
