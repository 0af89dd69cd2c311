package spend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
)

// Amount is what calls of models used together.
type Amount struct {
	Calls  int64 `json:"calls"`
	Tokens int64 `json:"tokens"` // input and output together
	Money  Money `json:"money"`  // in the currency of the models' prices
}

// Plus returns the sum. A sum beyond measure is the largest number: one that
// wrapped around would be a refund.
func (a Amount) Plus(b Amount) Amount {
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
	Calls  int64 `json:"calls,omitempty"`
	Tokens int64 `json:"tokens,omitempty"`
	Money  Money `json:"money,omitempty"`
}

var kinds = []string{kindCalls, kindTokens, kindMoney}

const (
	kindCalls  = "calls"
	kindTokens = "tokens"
	kindMoney  = "money"
)

// Looser names the kind of which l allows more than old, or "".
func (l Limits) Looser(old Limits) string {
	for i, limits := range [...][2]int64{{old.Calls, l.Calls}, {old.Tokens, l.Tokens}, {int64(old.Money), int64(l.Money)}} {
		if was, next := limits[0], limits[1]; was != 0 && (next == 0 || next > was) {
			return kinds[i]
		}
	}
	return ""
}

// countForm has at most 18 digits, which always fit.
var countForm = regexp.MustCompile(`^[1-9][0-9]{0,17}$`)

// SetText sets the limit of a kind from a number as it was written. It is above
// 0: what may spend nothing needs no budget.
func (l *Limits) SetText(kind, text string) (err error) {
	switch kind {
	case kindCalls:
		l.Calls, err = count(kind, text)
	case kindTokens:
		l.Tokens, err = count(kind, text)
	case kindMoney:
		if l.Money, err = ParseMoney(text); err != nil {
			return fmt.Errorf("money: %w", err)
		}
		if l.Money == 0 {
			return fmt.Errorf("money is %s: write an amount above 0, for example money: 0.50", text)
		}
	}
	return err
}

func count(kind, text string) (int64, error) {
	if !countForm.MatchString(text) {
		return 0, fmt.Errorf("%s is %s: write a whole number above 0, for example %s: 20", kind, text, kind)
	}
	return strconv.ParseInt(text, 10, 64)
}

// UnmarshalJSON reads strictly: a limit that is not understood would not be
// enforced.
func (l *Limits) UnmarshalJSON(data []byte) error {
	const example = `{"calls": 20, "money": 0.50}`
	*l = Limits{}
	fields := json.NewDecoder(bytes.NewReader(data))
	if open, err := fields.Token(); err != nil || open != json.Delim('{') {
		return errors.New("it is not an object: write for example " + example)
	}
	var seen []string
	for fields.More() {
		key, err := fields.Token()
		if err != nil {
			return err
		}
		kind := key.(string) // the decoder has seen to it
		switch {
		case !slices.Contains(kinds, kind):
			return fmt.Errorf("unknown key %q: write calls, tokens or money", kind)
		case slices.Contains(seen, kind):
			return fmt.Errorf("it has %q twice: write it once", kind)
		}
		var value json.RawMessage
		if err := fields.Decode(&value); err != nil {
			return err
		}
		if err := l.SetText(kind, string(value)); err != nil {
			return err
		}
		seen = append(seen, kind)
	}
	if *l == (Limits{}) {
		return errors.New("it is empty: write for example " + example + ", or leave it out")
	}
	return nil
}
