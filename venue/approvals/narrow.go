package approvals

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"usher/caps/value"
	"usher/tools"
	"usher/tools/approvals"
	"usher/tools/fault"
	"usher/venue/store"
)

// within reports whether a call is within the limits of the answer.
func (rec *record) within(input any) (bool, error) {
	limits, err := rec.Answer.Limits()
	return err == nil && limits.Hold(input), err
}

// answersItself reports whether the call that was asked about is within the limits of
// its answer.
func (rec *record) answersItself() (bool, error) {
	if len(rec.Answer.When) == 0 {
		return true, nil
	}
	input, err := value.Decode(rec.Input, value.MaxDepth)
	if err != nil {
		return false, err
	}
	return rec.within(input)
}

// usedFor is the digest of the call that the answer was used for.
func (rec *record) usedFor() string { return cmp.Or(rec.For, rec.Digest) }

// narrow says why an answer cannot have its limits, or sets the mark by which a call that
// is narrower finds it, where the call itself is beyond them.
func (rec *record) narrow(put map[string][]byte) error {
	limits, err := rec.Answer.Limits()
	if err != nil || len(rec.Answer.When) == 0 {
		return err
	}
	rec.Answer.When = limits.JSON()
	input, err := value.Decode(rec.Input, value.MaxDepth)
	if _, whole := input.(map[string]any); err != nil || !whole {
		return fault.New(fault.InvalidInput, "the input of the call is not shown whole, so no limits can be put on it: allow it as it is, or deny it")
	}
	if err := limits.Narrow(input); err != nil {
		return fault.New(fault.InvalidInput, "when: "+err.Error())
	}
	if limits.Hold(input) {
		return nil
	}
	if rec.Kind == "" {
		return fault.New(fault.InvalidInput, "the call is of no run, in which a narrower one could follow: allow it as it is, or deny it")
	}
	put[nearKey(rec.Kind, rec.ID)] = []byte{}
	return nil
}

// limitError refuses a call that is beyond the limits of the answer, and tells them.
type limitError struct {
	Approval string          `json:"approval"` // id of the request
	When     json.RawMessage `json:"when"`
	Until    int64           `json:"until"` // ms
	text     string
}

var _ fault.Detailer = (*limitError)(nil)

func errLimits(rec *record) error {
	limits, err := rec.Answer.Limits()
	if err != nil {
		return err
	}
	until := time.UnixMilli(rec.Expires).UTC()
	return &limitError{rec.ID, rec.Answer.When, rec.Expires, fmt.Sprintf(
		"a person allows it only when %s, once, in this run, until %s. Retrying the same call will not succeed: make it within these limits, with all else as it is", limits, until.Format(time.RFC3339))}
}

func (e *limitError) Error() string { return e.text }

// Code is [fault.Refused].
func (e *limitError) Code() fault.Code { return fault.Refused }

// Details are the limits.
func (e *limitError) Details() any { return e }

// near uses up an answer that was given for a wider call of the same run; nil where there
// is none.
func (r *Room) near(ctx context.Context, q *question) (*tools.Grant, error) {
	kind, err := r.like(q.Ruling)
	if err != nil || kind == "" {
		return nil, err
	}
	below := nearKey(kind, "")
	for key, err := range store.Keys(ctx, r.Store, below, "") {
		if err != nil {
			return nil, err
		}
		rec, rev, err := r.find(ctx, q.owner, key[len(below):])
		if fault.Of(err) == fault.NotFound || err == nil && rec.Status != approvals.Approved {
			continue
		}
		if err != nil {
			return nil, err
		}
		if fits, err := r.fits(ctx, q, &rec); err != nil || !fits {
			if err != nil {
				return nil, err
			}
			continue
		}
		rec.For, rec.At = q.digest, q.key
		grant, err := r.use(q, &rec, rev)
		if err != nil {
			return nil, err
		}
		call := callKey(q.digest)
		grant.Expect[call], grant.Put[call] = q.marked, []byte(rec.ID)
		if q.key != "" {
			grant.Put[atKey(q.key)] = []byte(rec.ID)
		}
		return grant, nil
	}
	return nil, nil
}

// fits reports whether a call is what the answer to a wider one allows.
func (r *Room) fits(ctx context.Context, q *question, rec *record) (bool, error) {
	asked, err := value.Decode(rec.Input, value.MaxDepth)
	if err != nil {
		return false, err
	}
	digest, err := r.digest(q.Ruling, rec.Key, asked)
	if err != nil {
		return false, err
	}
	if digest != rec.Digest || !verifies(rec) {
		return false, errNoSignature(rec)
	}
	limits, err := rec.Answer.Limits()
	if err != nil || !limits.Admit(asked, q.input) {
		return false, err
	}
	return true, r.stands(ctx, q, rec)
}
