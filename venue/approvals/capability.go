package approvals

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"usher/caps"
	"usher/tools"
	"usher/tools/approvals"
	"usher/tools/fault"
	"usher/ucan"
	"usher/venue/runs"
	"usher/venue/store"
)

// maxAbove is how many runs above its own a call looks for what was granted.
const maxAbove = 16

// FindApproval is that of [tools.Approvals]: the answer is for one life, with all that bounds
// it, in the run that asked and those below it, until its end.
func (r *Room) FindApproval(ctx context.Context, auth tools.Authority, need caps.Request) (approval string, err error) {
	err = r.above(ctx, auth, func(run string) (bool, error) {
		digest, err := r.digestOf(auth, run, need)
		if err != nil {
			return false, err
		}
		rec, _, _, err := r.last(ctx, r.person(auth.Owner()), digest)
		if err != nil || rec == nil || rec.Status != approvals.Approved {
			return false, err
		}
		approval = rec.ID
		return true, r.gives(ctx, rec, digest, need)
	})
	return approval, err
}

// Grants lists what persons have granted whoever auth is for the task at hand.
func (r *Room) Grants(ctx context.Context, auth tools.Authority) (list []caps.Capability, err error) {
	err = r.above(ctx, auth, func(run string) (bool, error) {
		below := capKey(run, "")
		for key, err := range store.Keys(ctx, r.Store, below, "") {
			if err != nil {
				return false, err
			}
			rec, _, err := r.find(ctx, r.person(auth.Owner()), key[len(below):])
			if err != nil && fault.Of(err) != fault.NotFound {
				return false, err
			}
			if err != nil || rec.Status != approvals.Approved || len(rec.Wants) != 1 {
				continue
			}
			need := rec.Wants[0].need()
			digest, err := r.digestOf(auth, run, need)
			if err != nil {
				return false, err
			}
			if r.gives(ctx, &rec, digest, need) != nil {
				continue // it is another's, or no more
			}
			c, err := caps.NewCapability(need.Resource().String(), string(need.Ability()))
			if err == nil {
				c, err = c.On(caps.Terms{Until: time.UnixMilli(rec.Expires).UTC().Truncate(time.Second)})
			}
			if err != nil {
				return false, err
			}
			list = append(list, c)
		}
		return false, nil
	})
	return list, err
}

// above calls look with the run of an agent that asks for what it lacks, and those above
// it, until that says that it is enough.
func (r *Room) above(ctx context.Context, auth tools.Authority, look func(run string) (enough bool, err error)) error {
	run := runs.From(ctx)
	if run == nil || !r.Asks(ctx, auth.Life()) {
		return nil
	}
	owner, id := run.Owner(), auth.Run()
	for range maxAbove {
		if id == "" {
			return nil
		}
		if enough, err := look(id); enough || err != nil {
			return err
		}
		rec, err := r.Runs.Find(ctx, owner, id)
		if fault.Of(err) == fault.NotFound {
			return nil
		}
		if err != nil {
			return err
		}
		if id = rec.Parent; !rec.Above.IsZero() {
			owner = rec.Above
		}
	}
	return nil
}

// gives says why an answer gives nothing any more.
func (r *Room) gives(ctx context.Context, rec *record, digest string, need caps.Request) error {
	if rec.Grants == "" || rec.Digest != digest || !verifies(rec) {
		return errNoSignature(rec)
	}
	by, err := ucan.ParseDID(rec.Answer.By)
	if err != nil || rec.Answer.By == rec.Owner {
		return err
	}
	if err := r.mayAnswer(ctx, by, rec); err != nil {
		return err
	}
	return r.mayMake(ctx, by, rec, []caps.Request{need}, nil)
}

// begunMark stands before the id of a request whose call has begun, at its place.
const begunMark = "-"

// Begin is that of [tools.Approvals].
func (r *Room) Begin(ctx context.Context, auth tools.Authority, at tools.At, approval string) (*tools.Grant, error) {
	grant := &tools.Grant{Approval: approval}
	key := at.In(auth.Run())
	if key == "" {
		return grant, nil
	}
	id, rev, err := r.Store.Get(ctx, atKey(key))
	if err == nil && string(id) == approval {
		grant.Expect, grant.Put = map[string]uint64{atKey(key): rev}, map[string][]byte{atKey(key): []byte(begunMark + approval)}
	}
	return grant, err
}

// AskFor is that of [tools.Approvals].
func (r *Room) AskFor(ctx context.Context, ruling *tools.Ruling, need caps.Request, at tools.At) (told string, err error) {
	auth := ruling.Authority()
	if !r.Asks(ctx, auth.Life()) {
		return "", nil
	}
	q := &question{Ruling: ruling, key: at.In(auth.Run()), owner: r.person(auth.Owner())}
	if q.digest, err = r.digestOf(auth, auth.Run(), need); err != nil {
		return "", err
	}
	rec, _, marked, err := r.last(ctx, q.owner, q.digest)
	if err != nil {
		return "", err
	}
	if rec != nil {
		return r.again(ctx, q, rec)
	}
	asked, err := r.request(ctx, q)
	if err != nil {
		return "", err
	}
	asked.Grants, asked.Needs, asked.Wants, asked.All = need.String(), []string{need.String()}, []want{wantOf(need)}, true
	asked.Why = "The capabilities of agent " + auth.Actor() + " do not have it: allowed, it is granted for this run alone, and does not become theirs."
	more, err := r.more(ctx, ruling, need)
	if err != nil {
		return "", err
	}
	asked.Why += more + q.programNote()
	err = r.store(ctx, &asked, marked)
	if fault.Of(err) == fault.Refused { // nobody is asked about more
		return err.Error() + ".", nil
	}
	return "", err
}

// more says what a call lacks beside what is asked for: allowed, it would still be denied that.
func (r *Room) more(ctx context.Context, ruling *tools.Ruling, but caps.Request) (text string, err error) {
	const most = 3 // of which each is looked for in the runs above
	var lacks []string
	for need := range ruling.Gaps() {
		if need.String() == but.String() {
			continue
		}
		if len(lacks) == most {
			lacks = append(lacks, "more")
			break
		}
		had, err := r.FindApproval(ctx, ruling.Authority(), need)
		if err != nil {
			return "", err
		}
		if had == "" {
			lacks = append(lacks, need.String())
		}
	}
	if len(lacks) == 0 {
		return "", nil
	}
	return " The call is still denied without " + strings.Join(lacks, ", ") + ", which is asked for next.", nil
}

// again is what a call is told of a capability that was asked for in its run before.
func (r *Room) again(ctx context.Context, q *question, rec *record) (told string, err error) {
	switch {
	case rec.Status == approvals.Pending:
		return "", r.joins(ctx, q, rec)
	case rec.Status == approvals.Denied && rec.Answer.Reason != "":
		return "A person was asked for it and has refused it: " + rec.Answer.Reason + ".", nil
	case rec.Status == approvals.Denied:
		return "A person was asked for it and has refused it.", nil
	case rec.Answer == nil:
		return "A person was asked for it, and nobody has answered.", nil
	}
	return "A person has granted it for a time, which is over.", nil
}

// joins has one more call wait for a request.
func (r *Room) joins(ctx context.Context, q *question, rec *record) error {
	at, _, err := r.Store.Get(ctx, atKey(q.key))
	if err != nil || string(at) == rec.ID {
		return cmp.Or(err, waits(rec))
	}
	now, rev, err := r.find(ctx, rec.Owner, rec.ID) // it may have been answered since
	if err != nil {
		return err
	}
	now.Places = append(now.Places, q.key)
	raw, err := json.Marshal(now)
	if err != nil {
		return err
	}
	key, moved := requestKey(rec.Owner, rec.ID), "status"
	if now.Status == approvals.Pending {
		moved, err = r.Store.Apply(ctx, map[string]uint64{key: rev}, map[string][]byte{key: raw, atKey(q.key): []byte(rec.ID)}, nil)
	}
	if err == nil && moved != "" {
		err = fault.New(fault.Busy, fmt.Sprintf("the request %s was answered meanwhile", rec.ID))
	}
	return cmp.Or(err, waits(rec))
}
