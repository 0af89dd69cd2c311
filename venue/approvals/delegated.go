package approvals

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"usher/caps"
	"usher/tools/fault"
	"usher/ucan"
)

// want is a requirement as it is stored.
type want struct {
	Can  string `json:"can"`
	With string `json:"with,omitempty"`
	Any  bool   `json:"any,omitempty"` // it is of no resource
}

func wantOf(need caps.Request) want {
	return want{string(need.Ability()), need.Resource().String(), !need.HasResource()}
}

func (w want) need() caps.Request {
	if w.Any {
		return caps.NeedAbility(w.Can)
	}
	return caps.Need(w.Can, w.With)
}

// mayApprove says why somebody may not allow a call that the owner is asked about: who is
// not the owner answers by a delegation that the venue has, and for what they may do.
func (r *Room) mayApprove(ctx context.Context, by ucan.DID, rec *record) error {
	if by.String() == rec.Owner {
		return nil
	}
	if err := r.mayAnswer(ctx, by, rec); err != nil {
		return err
	}
	if !rec.All {
		return fault.New(fault.Refused, fmt.Sprintf("the call needs more than %d things: only its owner can allow it", maxNeeds))
	}
	if within, err := rec.answersItself(); err != nil || !within {
		return err // a narrower call is looked at when it is made
	}
	needs := make([]caps.Request, len(rec.Wants))
	for i, w := range rec.Wants {
		needs[i] = w.need()
	}
	return r.mayMake(ctx, by, rec, needs, rec.Input)
}

// stands says why an answer does not hold any more, for a call that it allows.
func (r *Room) stands(ctx context.Context, q *question, rec *record) error {
	by, err := ucan.ParseDID(rec.Answer.By)
	if err != nil || rec.Answer.By == rec.Owner {
		return err
	}
	if err = r.mayAnswer(ctx, by, rec); err == nil {
		err = r.mayMake(ctx, by, rec, slices.Collect(q.Needs()), q.Input())
	}
	if fault.Of(err) == fault.Refused {
		return fault.New(fault.Refused, "the approval "+rec.ID+" does not hold any more: "+err.Error())
	}
	return err
}

func (r *Room) mayAnswer(ctx context.Context, by ucan.DID, rec *record) error {
	if r.Keys.Independent(by) != "" {
		return errOnlyPersons
	}
	const can = "approval/answer"
	return r.checkAuthority(ctx, ucan.Query{Caller: by, Request: caps.Need(can, rec.Owner+"/approvals/"+rec.ID)}, "answer for "+rec.Owner+" by a delegation of "+can+" that this venue has")
}

// mayMake says why somebody may not make a call themselves.
func (r *Room) mayMake(ctx context.Context, by ucan.DID, rec *record, needs []caps.Request, input json.RawMessage) error {
	of := cmp.Or(rec.Of, rec.Owner)
	owner, err := ucan.ParseDID(of)
	if err != nil {
		return err
	}
	for _, need := range needs {
		if err := r.checkAuthority(ctx, ucan.Query{Caller: by, Request: need, Owner: owner, Input: input}, "do "+need.String()+" in the namespace of "+of+" themselves, and allows no more than that"); err != nil {
			return err
		}
	}
	return nil
}

// checkAuthority says why the caller of a query may not do what.
func (r *Room) checkAuthority(ctx context.Context, q ucan.Query, what string) error {
	q.Search = true
	_, err := r.Chains.Authorize(ctx, q)
	if _, refused := errors.AsType[*ucan.VerifyError](err); refused {
		return fault.New(fault.Refused, fmt.Sprintf("%s may not %s", q.Caller, what))
	}
	return err
}
