package approvals

import (
	"context"
	"encoding/json"
	"fmt"

	"usher/caps/value"
	"usher/tools"
	"usher/tools/approvals"
	"usher/tools/fault"
	"usher/ucan"
)

var errOnlyPersons = fault.New(fault.Refused, "an agent cannot answer for a person: the owner can, by usher approvals")

// errBounded: what an answer allows is beyond what bounds whoever gives it.
var errBounded = fault.New(fault.Refused, "who came in with bounds allows nothing for others: what they allow would be beyond these bounds")

// errDigest: somebody looked at something else.
var errDigest = fault.New(fault.InvalidInput, "the digest is that of another call: look at the request again")

// errOnly: a call is one thing.
var errOnly = fault.New(fault.InvalidInput, "only is for what agents from elsewhere ask for: this is a call, which is allowed or denied")

// answer writes what the caller says to a request, and has its run go on. One that was filed
// from outside takes the word instead.
func (r *Room) answer(ctx context.Context, call tools.Call, of approvals.Of, id string, word Word, say func(rec *record, put map[string][]byte) error) (approvals.Request, error) {
	if auth := call.Authority(); auth.Actor() != "" || len(auth.Via()) > 0 || len(auth.Bound().Lives) > 0 { // the last: an agent wrote the program
		return approvals.Request{}, errOnlyPersons
	}
	if r.Keys.Independent(call.Owner()) != "" {
		return approvals.Request{}, errOnlyPersons
	}
	person, err := of.For(call.Owner())
	if err != nil {
		return approvals.Request{}, err
	}
	owner := person.String()
	rec, rev, err := r.find(ctx, owner, id)
	if err != nil {
		return approvals.Request{}, err
	}
	if rec.Status == approvals.Ended {
		return approvals.Request{}, fault.New(fault.InvalidInput, fmt.Sprintf("the run %s that asked is over: there is nothing to answer any more", rec.Run))
	}
	if rec.Status != approvals.Pending {
		return approvals.Request{}, fault.New(fault.InvalidInput, fmt.Sprintf("request %s is %s: only one that is PENDING can be answered", id, rec.Status))
	}
	if rec.From != "" {
		return r.outside(ctx, call, &rec, word)
	}
	if word.Only != nil {
		return approvals.Request{}, errOnly
	}
	_, mark, err := r.Store.Get(ctx, openKey(owner, id))
	if err != nil {
		return approvals.Request{}, err
	}
	due := dueKey(rec.Expires, id)
	rec.Answer = &approvals.Answer{By: call.Owner().String(), At: r.Now().UnixMilli()}
	put := make(map[string][]byte, 2)
	if err := say(&rec, put); err != nil {
		return approvals.Request{}, err
	}
	if put[requestKey(owner, id)], err = json.Marshal(rec); err != nil {
		return approvals.Request{}, err
	}
	moved, err := r.Store.Apply(ctx, map[string]uint64{requestKey(owner, id): rev, openKey(owner, id): mark}, put, []string{openKey(owner, id), due})
	if err == nil && moved != "" {
		err = fault.New(fault.Busy, "the request was answered meanwhile")
	}
	if err != nil {
		return approvals.Request{}, err
	}
	r.tell(&rec)
	return rec.Request, r.wake(ctx, &rec)
}

// wake has the run of a request go on.
func (r *Room) wake(ctx context.Context, rec *record) error {
	runner, err := ucan.ParseDID(rec.Runner)
	if rec.Run == "" || err != nil {
		return err
	}
	if err := r.Runs.Wake(context.WithoutCancel(ctx), runner, rec.Run); err != nil && fault.Of(err) != fault.NotFound {
		return fmt.Errorf("the answer is stored; its run goes on when the venue is opened again: %w", err)
	}
	return nil
}

// Approve is that of [approvals.Service].
func (r *Room) Approve(ctx context.Context, call tools.Call, in approvals.Yes) (approvals.Request, error) {
	life, err := in.Life()
	if err != nil {
		return approvals.Request{}, err
	}
	word := Word{Yes: true, When: in.When, Only: in.Only, Reason: in.Reason, Digest: in.Digest}
	if in.For != "" {
		word.Until = r.Now().Add(life)
	}
	return r.answer(ctx, call, in.Of, in.ID, word, func(rec *record, put map[string][]byte) error {
		if !call.Authority().IsUnbounded() {
			return errBounded
		}
		if in.Digest != "" && in.Digest != rec.Digest {
			return errDigest
		}
		key, err := r.Keys.Of(ctx, call.Owner())
		if err != nil {
			return fmt.Errorf("sign the answer: %w", err)
		}
		rec.Status, rec.Answer.Reason, rec.Expires = approvals.Approved, in.Reason, r.Now().Add(life).UnixMilli()
		if rec.Answer.When = in.When; rec.Grants != "" && len(in.When) > 0 {
			return fault.New(fault.InvalidInput, "when is for calls, and this is a capability: allow it, or deny it")
		}
		if rec.Grants != "" {
			put[capKey(rec.Run, rec.ID)] = []byte{}
		}
		if err := rec.narrow(put); err != nil {
			return err
		}
		if err := r.mayApprove(ctx, call.Owner(), rec); err != nil {
			return err
		}
		rec.Answer.Signature = key.Sign(rec.statement())
		return nil
	})
}

// Deny is that of [approvals.Service].
func (r *Room) Deny(ctx context.Context, call tools.Call, in approvals.No) (approvals.Request, error) {
	return r.answer(ctx, call, in.Of, in.ID, Word{Reason: value.Cut(in.Reason, 1<<10)}, func(rec *record, _ map[string][]byte) error {
		rec.Status, rec.Answer.Reason = approvals.Denied, value.Cut(in.Reason, 1<<10)
		return nil
	})
}
