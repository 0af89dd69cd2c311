package ap

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"usher/runtime"
	"usher/tools"
	"usher/venue/ledger"
)

// Outcomes of an attempt.
const (
	denied  = "denied"  // by the gate: the authority is missing
	refused = "refused" // the input as such: not canonical, not well formed
	allowed = "allowed"
	byModel = "model" // as a model that was plugged in pleases, or denied
)

// attempt is something that an agent tries at the gate, and what came of it.
type attempt struct {
	Agent   string `json:"agent"`
	What    string `json:"what"`
	Tool    string `json:"tool"`
	Input   any    `json:"input"`
	Want    string `json:"want"`
	Outcome string `json:"outcome"`
	Words   string `json:"words,omitempty"` // the denial, or what is wrong with the input
}

// attempts reads what is to be tried.
func (h *house) attempts() ([]attempt, error) {
	var groups []struct {
		Agent string
		Tries []attempt
	}
	raw, err := files.ReadFile("attempts.yaml")
	if err == nil {
		err = yaml.Load([]byte(strings.ReplaceAll(string(raw), "OWNER", h.user.DID().String())), &groups)
	}
	var list []attempt
	for _, g := range groups {
		for _, a := range g.Tries {
			a.Agent = g.Agent
			list = append(list, a)
		}
	}
	return list, err
}

// probe has everything tried, and looks afterwards whether anything changed.
func (h *house) probe(ctx context.Context) error {
	list, err := h.attempts()
	if err != nil {
		return err
	}
	newest, err := h.v.Ledger().Newest(ctx)
	if err != nil {
		return err
	}
	h.worked = newest.Seq
	if err := h.usage(ctx); err != nil {
		return err
	}
	h.Unchanged, err = h.isUnchanged(ctx, "the attempts changed what is stored", func() error {
		for _, a := range list {
			if err := h.try(ctx, &a); err != nil {
				return err
			}
			h.Attempts = append(h.Attempts, a)
			want := a.Want
			if want == byModel && h.plugged == nil {
				want = denied
			}
			if a.Outcome != want && want != byModel {
				h.surprise("%s could %s: %s, want %s", a.Agent, a.What, a.Outcome, want)
			}
		}
		return nil
	}, "w", "o")
	return err
}

// try makes one attempt. Whether the gate denied it is read in the ledger: it may
// be met further down, by a step, a child, a colleague who was asked.
func (h *house) try(ctx context.Context, a *attempt) error {
	input, err := json.Marshal(a.Input)
	if err != nil {
		return err
	}
	newest, err := h.v.Ledger().Newest(ctx)
	if err != nil {
		return err
	}
	_, calls, err := h.say(ctx, a.Agent, "call "+a.Tool+" "+string(input))
	if err == nil && len(calls) != 1 {
		err = fmt.Errorf("%s made %d calls, want 1", a.Agent, len(calls))
	}
	if err != nil {
		return err
	}
	if err := h.plugged.failure(); err != nil {
		return err
	}
	a.Outcome = allowed
	if calls[0].Outcome != runtime.ToolOK {
		var why struct{ Message string }
		_ = json.Unmarshal([]byte(calls[0].Result), &why) // else it has no words
		a.Outcome, a.Words = refused, why.Message
	} else if a.Want != allowed {
		a.Words = "It was answered: " + calls[0].Result
	}
	for row, err := range h.v.Audit(ctx, newest.Seq+1) {
		if err != nil {
			return err
		}
		if why, is := denial(&row); is {
			a.Outcome, a.Words = denied, why
			break
		}
	}
	return nil
}

// denial is why a row of the ledger is a refusal of the gate.
func denial(row *ledger.Row) (why string, is bool) {
	if row.Entry == nil {
		return row.Error, row.Outcome == ledger.OutcomeDenied
	}
	return row.Reason, row.Verdict == tools.Denied
}
