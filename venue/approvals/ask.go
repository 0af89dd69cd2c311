package approvals

import (
	"context"
	"encoding/json"
	"fmt"

	"usher/tools"
	"usher/tools/approvals"
	"usher/tools/fault"
)

// Answer is that of [tools.Approvals].
func (r *Room) Answer(ctx context.Context, ruling *tools.Ruling, at tools.At) (*tools.Grant, error) {
	digest, err := r.digest(ruling, at)
	if err != nil {
		return nil, err
	}
	owner := r.person(ruling.Authority().Owner())
	id, marked, err := r.Store.Get(ctx, callKey(digest))
	if err != nil {
		return nil, err
	}
	if id == nil {
		return nil, r.file(ctx, ruling, at, owner, digest, marked)
	}
	rec, rev, err := r.find(ctx, owner, string(id))
	if fault.Of(err) == fault.NotFound {
		return nil, r.file(ctx, ruling, at, owner, digest, marked)
	}
	if err != nil {
		return nil, err
	}
	switch rec.Status {
	case approvals.Pending:
		return nil, waits(&rec)
	case approvals.Denied:
		return nil, r.spend(ctx, &rec, marked, refusal("a person has refused this call", rec.Answer.Reason))
	case approvals.Expired:
		if rec.Answer == nil {
			return nil, r.spend(ctx, &rec, marked, refusal("nobody has answered whether this call may be made", ""))
		}
		return nil, r.file(ctx, ruling, at, owner, digest, marked)
	case approvals.Ended: // it was asked about by no place of its run, which is over
		return nil, r.file(ctx, ruling, at, owner, digest, marked)
	case approvals.Used:
		if rec.Key != "" && ruling.Operation().Repeatable() {
			return &tools.Grant{Approval: rec.ID}, nil // the same call, which its run makes again
		}
		return nil, r.file(ctx, ruling, at, owner, digest, marked)
	}
	if rec.Digest != digest || !verifies(&rec) {
		return nil, fault.New(fault.Refused, "the approval "+rec.ID+" is not what a person has signed")
	}
	rec.Status, rec.Used = approvals.Used, r.Now().UnixMilli()
	raw, err := json.Marshal(rec)
	if err != nil {
		return nil, err
	}
	key := requestKey(owner, rec.ID)
	return &tools.Grant{Approval: rec.ID, Expect: map[string]uint64{key: rev}, Put: map[string][]byte{key: raw}}, nil
}

func waits(rec *record) error {
	return &tools.WaitError{Approval: rec.ID, Call: rec.Operation}
}

func refusal(text, reason string) error {
	if reason != "" {
		text += ": " + reason
	}
	return fault.New(fault.Refused, text+". Retrying the same call will not succeed.")
}

// spend forgets the refusal of a call that is told: a call that is the same, and made
// anew outside of a run, is asked about again.
func (r *Room) spend(ctx context.Context, rec *record, marked uint64, told error) error {
	if rec.Key != "" {
		return told
	}
	call := callKey(rec.Digest)
	if _, err := r.Store.Apply(ctx, map[string]uint64{call: marked}, nil, []string{call}); err != nil {
		return err
	}
	return told
}

// file files a request for a call, in place of the one that marked says.
func (r *Room) file(ctx context.Context, ruling *tools.Ruling, at tools.At, owner, digest string, marked uint64) error {
	id, err := r.NewID()
	if err != nil {
		return err
	}
	auth, now := ruling.Authority(), r.Now()
	e := ruling.Entry()
	rec := record{
		Request: approvals.Request{
			ID: id, Status: approvals.Pending, Owner: owner, Agent: auth.Actor(), Via: auth.Via(), Run: auth.Run(), Session: e.Session,
			Operation: e.Operation, Input: shown(ruling), Digest: digest, Why: e.Reason,
			Created: now.UnixMilli(), Expires: now.Add(r.Life).UnixMilli(),
		},
		Runner: runner(ctx, auth), Life: auth.Life(), Key: at.In(auth.Run()),
	}
	for need := range ruling.Needs() {
		if len(rec.Needs) < 64 {
			rec.Needs = append(rec.Needs, need.String())
		}
	}
	raw, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	put := map[string][]byte{
		callKey(digest): []byte(id), requestKey(owner, id): raw, openKey(owner, id): {}, dueKey(rec.Expires, id): []byte(owner),
	}
	if rec.Key != "" {
		put[atKey(rec.Key)] = []byte(id)
	}
	moved, err := r.count(ctx, &rec, 1, map[string]uint64{callKey(digest): marked}, put, nil)
	if err == nil && moved != "" {
		err = fault.New(fault.Busy, "the same call was asked about meanwhile")
	}
	if err != nil {
		return fmt.Errorf("ask for an approval: %w", err)
	}
	r.tell(&rec)
	return waits(&rec)
}

// Unbegun reports whether a call is known not to have begun: a person was to be
// asked, and no answer is used up.
func (r *Room) Unbegun(ctx context.Context, auth tools.Authority, at tools.At) bool {
	key := at.In(auth.Run())
	if key == "" {
		return false
	}
	id, _, err := r.Store.Get(ctx, atKey(key))
	if err != nil || id == nil {
		return false
	}
	rec, _, err := r.find(ctx, r.person(auth.Owner()), string(id))
	return err == nil && rec.Used == 0
}
