package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"usher/tools"
)

// Budgets bound what an agent's model calls may spend, and with them those of
// all that it has others do. The zero value bounds nothing.
type Budgets struct {
	Run     Limits `json:"run,omitzero"`     // one turn and everything that comes of it
	Session Limits `json:"session,omitzero"` // all turns of one session
	Agent   Limits `json:"agent,omitzero"`   // as long as the agent lives; binds those below it too
}

// Limits are what may be spent, of each kind; 0 is no limit of that kind.
type Limits struct {
	Calls  int64       `json:"calls,omitempty"`  // of a model
	Tokens int64       `json:"tokens,omitempty"` // input and output together
	Money  tools.Money `json:"money,omitempty"`  // in the currency of the models' prices
}

// Spent is what has been spent, of each kind.
type Spent struct {
	Calls  int64       `json:"calls"`
	Tokens int64       `json:"tokens"`
	Money  tools.Money `json:"money"`
}

// Budget is a budget that binds an agent, as agent:info tells it.
type Budget struct {
	For    string `json:"for"`             // "run", "session" or "agent", as in [Budgets]
	Of     string `json:"of,omitempty"`    // the agent above that it was given to; empty for the agent itself
	Limits Limits `json:"limits"`          // what may be spent
	Spent  *Spent `json:"spent,omitempty"` // nil for runs and sessions: each begins with nothing
}

var (
	budgetNames = []string{"run", "session", "agent"}
	limitKinds  = []string{"calls", "tokens", "money"}
)

// Named returns the budget that is called run, session or agent; otherwise nil.
func (b *Budgets) Named(name string) *Limits {
	switch name {
	case "run":
		return &b.Run
	case "session":
		return &b.Session
	case "agent":
		return &b.Agent
	}
	return nil
}

// Looser says what b allows beyond old, as "run.calls", or "". No budgets at
// all are nil.
func (b *Budgets) Looser(old *Budgets) string {
	if old == nil {
		return ""
	}
	if b == nil {
		b = new(Budgets)
	}
	for _, name := range budgetNames {
		next, was := b.Named(name), old.Named(name)
		for i, limits := range [...][2]int64{
			{was.Calls, next.Calls}, {was.Tokens, next.Tokens}, {int64(was.Money), int64(next.Money)},
		} {
			if was, next := limits[0], limits[1]; was != 0 && (next == 0 || next > was) {
				return name + "." + limitKinds[i]
			}
		}
	}
	return ""
}

// countForm has at most 18 digits, which always fit.
var countForm = regexp.MustCompile(`^[1-9][0-9]{0,17}$`)

// SetText sets the limit that is called calls, tokens or money from a number
// as it was written. It is above 0: what may spend nothing needs no budget.
func (l *Limits) SetText(kind, text string) (err error) {
	switch kind {
	case "calls":
		l.Calls, err = count(kind, text)
	case "tokens":
		l.Tokens, err = count(kind, text)
	case "money":
		if l.Money, err = tools.ParseMoney(text); err != nil {
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

const limitsExample = `{"calls": 20, "money": 0.50}`

// UnmarshalJSON reads strictly: a limit that is not understood would not be
// enforced.
func (l *Limits) UnmarshalJSON(data []byte) error {
	*l = Limits{}
	fields, err := object(data, limitKinds, limitsExample)
	if err != nil {
		return err
	}
	for _, kind := range limitKinds {
		if raw, ok := fields[kind]; ok {
			if err := l.SetText(kind, string(raw)); err != nil {
				return err
			}
		}
	}
	if *l == (Limits{}) {
		return errors.New("it is empty: write for example " + limitsExample + ", or leave it out")
	}
	return nil
}

// UnmarshalJSON reads strictly, as [Limits] do.
func (b *Budgets) UnmarshalJSON(data []byte) error {
	*b = Budgets{}
	fields, err := object(data, budgetNames, `{"run": `+limitsExample+`}`)
	if err != nil {
		return fmt.Errorf("budgets: %w", err)
	}
	for _, name := range budgetNames {
		if raw, ok := fields[name]; ok {
			if err := json.Unmarshal(raw, b.Named(name)); err != nil {
				return fmt.Errorf("budgets.%s: %w", name, err)
			}
		}
	}
	return nil
}

// object returns the fields of a JSON object that has none beside the known.
func object(data []byte, known []string, example string) (fields map[string]json.RawMessage, err error) {
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return nil, errors.New("it is not an object: write for example " + example)
	}
	if err := tools.CheckKeys(data, known); err != nil {
		return nil, err
	}
	return fields, json.Unmarshal(data, &fields)
}
