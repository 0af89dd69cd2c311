package approvals

import (
	"context"
	"encoding/json"
	"time"

	"usher/tools"
	"usher/tools/approvals"
	"usher/tools/fault"
	"usher/ucan"
)

// Filing is a request that stands for what an agent from elsewhere asks its person for.
type Filing struct {
	Agent     string // id of who asks
	Host      string // id of whom it is of: all of one count together, as one agent does
	Operation string // what it is called
	Input     json.RawMessage
	Needs     []string
	Why       string
	Expires   time.Time
}

// Swap closes a request of a person, files another, or both.
type Swap struct {
	Owner  ucan.DID
	Close  string // id of a request, which may be closed already; "" closes none
	As     string // its status then
	By     ucan.DID
	Reason string
	File   *Filing // nil files none
}

// SwapBatch is a batch that makes a [Swap]. Whoever writes it does so with what it stands for,
// and then tells of it: see [Room.Tell].
type SwapBatch struct {
	Filed  string // id
	Told   []approvals.Request
	Expect map[string]uint64
	Put    map[string][]byte
	Del    []string
}

// Word is what a person says of a request that was filed by [Room.Swap].
type Word struct {
	By      ucan.DID
	Request *approvals.Request
	Yes     bool
	When    json.RawMessage // limits, by pointers /<capability>/<argument>; empty for none
	Only    []string        // the capabilities that are allowed; nil for all
	Until   time.Time       // zero for as long as what asks lasts
	Reason  string

	Digest string // of what the person looked at; "" where they do not say
}

// Swap returns the batch of a swap. What it counts may have changed when it is written, and then it
// is made anew.
func (r *Room) Swap(ctx context.Context, s Swap) (out *SwapBatch, err error) {
	out = &SwapBatch{Expect: map[string]uint64{}, Put: map[string][]byte{}}
	if s.Close != "" {
		if err := r.closeSwap(ctx, &s, out); err != nil {
			return nil, err
		}
	}
	if s.File == nil {
		return out, nil
	}
	id, err := r.NewID()
	if err != nil {
		return nil, err
	}
	owner, f := s.Owner.String(), s.File
	rec := record{From: f.Agent, Host: f.Host, Runner: owner, Request: approvals.Request{
		ID: id, Status: approvals.Pending, Owner: owner, Agent: f.Agent, Operation: f.Operation, Input: f.Input, Needs: f.Needs, Why: f.Why,
		Created: r.Now().UnixMilli(), Expires: f.Expires.UnixMilli(),
	}}
	if rec.Digest, err = r.mac("usher visitor", id, owner, f.Agent, f.Operation, f.Input); err != nil {
		return nil, err
	}
	var rev uint64
	if err := r.roomy(ctx, owner, func() error { rev, err = r.admits(ctx, &rec, s.Close); return err }); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(rec)
	if err != nil {
		return nil, err
	}
	out.Expect[requestKey(owner, id)], out.Expect[countKey(owner)] = 0, rev
	out.Put[requestKey(owner, id)], out.Put[countKey(owner)] = raw, nil
	out.Put[openKey(owner, id)], out.Put[dueKey(rec.Expires, id)] = rec.mark(), []byte(owner)
	out.Filed, out.Told = id, append(out.Told, rec.Request)
	return out, nil
}

func (r *Room) closeSwap(ctx context.Context, s *Swap, out *SwapBatch) error {
	owner := s.Owner.String()
	rec, rev, err := r.find(ctx, owner, s.Close)
	if fault.Of(err) == fault.NotFound || err == nil && rec.Status != approvals.Pending {
		return nil
	}
	if err != nil {
		return err
	}
	_, mark, err := r.Store.Get(ctx, openKey(owner, rec.ID))
	if err != nil {
		return err
	}
	rec.Status = s.As
	if !s.By.IsZero() {
		rec.Answer = &approvals.Answer{By: s.By.String(), At: r.Now().UnixMilli(), Reason: s.Reason}
	}
	raw, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	out.Expect[requestKey(owner, rec.ID)], out.Put[requestKey(owner, rec.ID)] = rev, raw
	out.Expect[openKey(owner, rec.ID)] = mark
	out.Del = append(out.Del, openKey(owner, rec.ID), dueKey(rec.Expires, rec.ID))
	out.Told = append(out.Told, rec.Request)
	return nil
}

// Tell says to who is told of requests that a batch was written.
func (r *Room) Tell(list []approvals.Request) {
	if r.Told == nil {
		return
	}
	for _, req := range list {
		r.Told(req)
	}
}

var errOnlyOwner = fault.New(fault.Refused, "an agent from elsewhere asks its person: nobody else answers")

// outside hands the word of a person to whom the request was filed by, who closes it.
func (r *Room) outside(ctx context.Context, call tools.Call, rec *record, w Word) (approvals.Request, error) {
	if call.Owner().String() != rec.Owner {
		return approvals.Request{}, errOnlyOwner
	}
	if !call.Authority().IsUnbounded() {
		return approvals.Request{}, errBounded
	}
	if w.Digest != "" && w.Digest != rec.Digest {
		return approvals.Request{}, errDigest
	}
	w.By, w.Request = call.Owner(), &rec.Request
	if err := r.Outside(ctx, w); err != nil {
		return approvals.Request{}, err
	}
	now, _, err := r.find(ctx, rec.Owner, rec.ID)
	return now.Request, err
}
