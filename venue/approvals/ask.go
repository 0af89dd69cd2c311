package approvals

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"usher/caps/value"
	"usher/tools"
	"usher/tools/approvals"
	"usher/tools/fault"
)

// question is a call that nobody may make without asking.
type question struct {
	*tools.Ruling
	input  any    // decoded
	key    string // of the call in its run; empty for one that is not made again
	owner  string // DID of the person who is asked
	digest string
	marked uint64 // revision of the mark of the call
}

// Answer is that of [tools.Approvals].
func (r *Room) Answer(ctx context.Context, ruling *tools.Ruling, at tools.At) (*tools.Grant, error) {
	q := &question{Ruling: ruling, key: at.In(ruling.Authority().Run()), owner: r.person(ruling.Authority().Owner())}
	var err error
	if q.input, err = value.Decode(ruling.Input(), value.MaxDepth); err != nil {
		return nil, err
	}
	if q.digest, err = r.digest(ruling, q.key, q.input); err != nil {
		return nil, err
	}
	var rec *record
	var rev uint64
	rec, rev, q.marked, err = r.last(ctx, q.owner, q.digest)
	switch {
	case err != nil:
		return nil, err
	case rec == nil:
		return r.ask(ctx, q)
	}
	return r.answerOf(ctx, q, rec, rev)
}

// last returns the last request of a digest, nil where there is none, with its revision and
// that of its mark.
func (r *Room) last(ctx context.Context, owner, digest string) (rec *record, rev, marked uint64, err error) {
	id, marked, err := r.Store.Get(ctx, callKey(digest))
	if err != nil || id == nil {
		return nil, 0, marked, err
	}
	found, rev, err := r.find(ctx, owner, string(id))
	if fault.Of(err) == fault.NotFound {
		return nil, 0, marked, nil
	}
	return &found, rev, marked, err
}

// answerOf is what comes of a request for exactly this call.
func (r *Room) answerOf(ctx context.Context, q *question, rec *record, rev uint64) (*tools.Grant, error) {
	switch rec.Status {
	case approvals.Pending:
		return nil, waits(rec)
	case approvals.Denied:
		return nil, r.spend(ctx, rec, q.marked, refusal("a person has refused this call", rec.Answer.Reason))
	case approvals.Expired:
		if rec.Answer == nil {
			return nil, r.spend(ctx, rec, q.marked, refusal("nobody has answered whether this call may be made", ""))
		}
		return r.ask(ctx, q)
	case approvals.Ended: // it was asked about by no place of its run, which is over
		return r.ask(ctx, q)
	case approvals.Used:
		switch {
		case rec.usedFor() != q.digest:
			return nil, errLimits(rec)
		case q.key != "" && q.Operation().Repeatable():
			return &tools.Grant{Approval: rec.ID}, nil // the same call, which its run makes again
		}
		return r.ask(ctx, q)
	}
	if rec.Digest != q.digest || !verifies(rec) {
		return nil, errNoSignature(rec)
	}
	if within, err := rec.within(q.input); err != nil || !within {
		return nil, cmp.Or(err, errLimits(rec))
	}
	if err := r.stands(ctx, q, rec); err != nil {
		return nil, err
	}
	return r.use(q, rec, rev)
}

// use uses an answer up for a call.
func (r *Room) use(q *question, rec *record, rev uint64) (*tools.Grant, error) {
	rec.Status, rec.Used = approvals.Used, r.Now().UnixMilli()
	raw, err := json.Marshal(rec)
	if err != nil {
		return nil, err
	}
	key := requestKey(q.owner, rec.ID)
	return &tools.Grant{Approval: rec.ID, Expect: map[string]uint64{key: rev}, Put: map[string][]byte{key: raw}}, nil
}

func errNoSignature(rec *record) error {
	return fault.New(fault.Refused, "the approval "+rec.ID+" is not what a person has signed")
}

// ask finds an answer that allows the call though it was given for a wider one, or files
// a request.
func (r *Room) ask(ctx context.Context, q *question) (*tools.Grant, error) {
	grant, err := r.near(ctx, q)
	if grant != nil || err != nil {
		return grant, err
	}
	return nil, r.file(ctx, q)
}

// maxNeeds bounds what a request lists of what its call needs.
const maxNeeds = 64

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

// request is a new request of a person about what a call needs.
func (r *Room) request(ctx context.Context, q *question) (record, error) {
	id, err := r.NewID()
	if err != nil {
		return record{}, err
	}
	auth, now := q.Authority(), r.Now()
	e := q.Entry()
	rec := record{
		Request: approvals.Request{
			ID: id, Status: approvals.Pending, Owner: q.owner, Agent: auth.Actor(), Via: auth.Via(), Run: auth.Run(), Session: e.Session,
			Operation: e.Operation, Input: inputView(q.Ruling), Digest: q.digest, Why: e.Reason,
			Created: now.UnixMilli(), Expires: now.Add(r.Life).UnixMilli(),
		},
		Runner: runner(ctx, auth), Life: auth.Life(), Key: q.key,
	}
	if auth.Owner().String() != q.owner {
		rec.Of = auth.Owner().String()
	}
	return rec, nil
}

// programNote says whose program makes the call; "" where no program of an agent does.
func (q *question) programNote() string {
	wrote := q.Entry().Wrote
	if len(wrote) == 0 {
		return ""
	}
	return " A program makes the call that " + strings.Join(wrote, ", ") + " wrote."
}

// file files a request for a call, in place of the one that its mark says.
func (r *Room) file(ctx context.Context, q *question) error {
	rec, err := r.request(ctx, q)
	if err != nil {
		return err
	}
	if rec.Kind, err = r.like(q.Ruling); err != nil {
		return err
	}
	rec.Why, rec.All = rec.Why+q.programNote(), true
	for need := range q.Needs() {
		if rec.All = len(rec.Needs) < maxNeeds; !rec.All {
			break
		}
		rec.Needs, rec.Wants = append(rec.Needs, need.String()), append(rec.Wants, wantOf(need))
	}
	return r.store(ctx, &rec, q.marked)
}

// maxTries bounds how often a request is filed again because another process has filed one
// meanwhile.
const maxTries = 100

// store stores a new request with its marks, and says that its call waits.
func (r *Room) store(ctx context.Context, rec *record, marked uint64) error {
	raw, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	call := callKey(rec.Digest)
	put := map[string][]byte{
		call: []byte(rec.ID), requestKey(rec.Owner, rec.ID): raw, openKey(rec.Owner, rec.ID): rec.mark(), dueKey(rec.Expires, rec.ID): []byte(rec.Owner),
		countKey(rec.Owner): {},
	}
	if rec.Key != "" {
		put[atKey(rec.Key)] = []byte(rec.ID)
	}
	err = r.roomy(ctx, rec.Owner, func() error { return r.enter(ctx, rec, map[string]uint64{call: marked}, put) })
	if err != nil {
		return fmt.Errorf("ask for an approval: %w", err)
	}
	r.tell(rec)
	return waits(rec)
}

// enter writes a new request, unless there is no room for it.
func (r *Room) enter(ctx context.Context, rec *record, expect map[string]uint64, put map[string][]byte) error {
	r.filing.Lock()
	defer r.filing.Unlock()
	count := countKey(rec.Owner)
	for range maxTries {
		rev, err := r.admits(ctx, rec, "")
		if err != nil {
			return err
		}
		expect[count] = rev
		if moved, err := r.Store.Apply(ctx, expect, put, nil); err != nil || moved == "" {
			return err
		} else if moved != count {
			break
		}
	}
	return fault.New(fault.Busy, "the same call was asked about meanwhile")
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
