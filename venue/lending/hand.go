package lending

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"usher/tools"
	"usher/tools/agents"
	"usher/tools/lending"
	"usher/ucan"
	"usher/venue/store"
)

// Attenuate is that of [lending.Service]. What is not the caller's own is wrong input, as in
// the proposal.
func (r *Room) Attenuate(ctx context.Context, call tools.Call, in lending.Attenuate) (out lending.Capabilities, err error) {
	parent, err := r.find(ctx, call, in.CapabilityID)
	if errors.Is(err, errUnknown) {
		err = refuse(lending.Params, "capabilityId is none of yours")
	}
	if err != nil {
		return out, err
	}
	if _, err := r.stands(ctx, parent); err != nil {
		return out, err
	}
	g := r.lent.Load().grant(parent.Grant)
	switch {
	case g == nil:
		return out, refuse(lending.Gone, "the grant of the capability is no more")
	case !g.IsAttenuable():
		return out, refuse(lending.Whole, "the grant "+g.ID+" is handed on whole or not at all")
	case parent.Depth+1 >= maxDepth:
		return out, refuse(lending.Widens, "the capability was made of too many others")
	}
	child, err := r.narrow(call, parent, &in)
	if err != nil {
		return out, err
	}
	if err := r.sign(ctx, child); err != nil {
		return out, err
	}
	parent, rev, err := r.read(ctx, parent.ID)
	if err != nil {
		return out, err
	}
	if _, err := r.stands(ctx, parent); err != nil { // it was revoked meanwhile
		return out, err
	}
	return r.keep(ctx, call.Owner(), []*record{child}, map[string]uint64{capKey(parent.ID): rev})
}

// narrow makes what is left of a capability.
func (r *Room) narrow(call tools.Call, parent *record, in *lending.Attenuate) (*record, error) {
	child := &record{
		ID: name("cap"), Grant: parent.Grant, Owner: parent.Owner, Maker: call.Owner(), Holder: parent.Holder, Agent: parent.Agent, Behind: parent.Behind, Run: parent.Run, Task: parent.Task,
		Parent: parent.ID, Depth: parent.Depth + 1, Purpose: parent.Purpose, Revocation: name("rv"), Expires: parent.Expires, Operations: parent.Operations,
		Bearer: call.Authority().Bearer(),
	}
	if err := child.setHolder(call, in); err != nil {
		return nil, err
	}
	c := in.Constraints
	if c.Operations != nil {
		for i, op := range *c.Operations {
			if !slices.Contains(parent.Operations, op) || slices.Contains((*c.Operations)[:i], op) {
				return nil, refuse(lending.Widens, "an operation is not of the capability")
			}
		}
		child.Operations = slices.Sorted(slices.Values(*c.Operations))
	}
	kept := parent.Things
	if c.ResourceHandles != nil {
		kept = nil
		for i, h := range *c.ResourceHandles {
			at := slices.IndexFunc(parent.Things, func(t thing) bool { return t.Handle == h })
			if at < 0 || slices.Contains((*c.ResourceHandles)[:i], h) {
				return nil, refuse(lending.Widens, "a handle is not of the capability")
			}
			kept = append(kept, parent.Things[at])
		}
	}
	if len(child.Operations) == 0 || len(kept) == 0 {
		return nil, refuse(lending.NoGrant, "nothing is left of the capability: an empty list is nothing, and not all")
	}
	for _, t := range kept {
		t.Handle = name("rh")
		child.Things = append(child.Things, t)
	}
	if c.Expires != "" {
		end, err := ending(c.Expires, r.Now())
		if err != nil {
			return nil, err
		}
		if end.UnixMilli() > parent.Expires {
			return nil, refuse(lending.Widens, "expires is after the capability's own end")
		}
		child.Expires = end.Truncate(time.Second).UnixMilli()
	}
	return child, nil
}

// setHolder says who has a new capability: by default whoever has the one that it is made of.
func (rec *record) setHolder(call tools.Call, in *lending.Attenuate) error {
	if in.Holder != "" {
		holder, err := ucan.ParseDID(in.Holder)
		if err != nil {
			return refuse(lending.Params, "holder is no DID of a key")
		}
		if rec.Holder = holder; holder != call.Owner() {
			rec.Agent, rec.Behind, rec.Run, rec.Task = "", nil, "", ""
		}
	}
	switch {
	case in.Agent == "" && in.Task == "":
		return nil
	case rec.Holder != call.Owner():
		return refuse(lending.Params, "an agent is named for a holder who is another")
	case agents.CheckID(in.Agent) != nil || in.Task == "" || len(in.Task) > 200:
		return refuse(lending.Params, "an agent is lent something for a task: name both")
	}
	rec.Agent, rec.Behind, rec.Run, rec.Task = in.Agent, nil, "", in.Task
	return nil
}

// Revoke is that of [lending.Service]. Who was lent a capability ends it, or who made it, or
// something that it was made of.
func (r *Room) Revoke(ctx context.Context, call tools.Call, in lending.Revoke) (out lending.RevokeResult, err error) {
	if len(in.RevocationID) > 100 || strings.ContainsAny(in.RevocationID, "/") {
		return out, errUnknown
	}
	id, err := r.byMark(ctx, "rev/"+in.RevocationID)
	if err != nil {
		return out, err
	}
	for {
		rec, rev, err := r.read(ctx, id)
		if err != nil {
			return out, err
		}
		if ok, err := r.mayEnd(ctx, call, rec); err != nil || !ok {
			return out, cmp.Or(err, errUnknown)
		}
		if rec.Revoked {
			return lending.RevokeResult{RevocationID: in.RevocationID, Revoked: true}, nil
		}
		rec.Revoked = true
		raw, err := json.Marshal(rec)
		if err != nil {
			return out, err
		}
		moved, err := r.Store.Apply(ctx, map[string]uint64{capKey(id): rev}, map[string][]byte{capKey(id): raw}, nil)
		if err != nil {
			return out, err
		}
		if moved == "" {
			return lending.RevokeResult{RevocationID: in.RevocationID, Revoked: true}, nil
		}
	}
}

// mayEnd reports whether the caller has a capability, or one that it was made of, or is its
// owner in person.
func (r *Room) mayEnd(ctx context.Context, call tools.Call, rec *record) (bool, error) {
	for {
		if rec.Owner == call.Owner() && call.Actor() == "" && len(call.Authority().Behind()) == 0 {
			return true, nil
		}
		if mine, err := r.has(ctx, call.Authority(), rec); mine || err != nil || rec.Parent == "" {
			return mine, err
		}
		var err error
		if rec, _, err = r.read(ctx, rec.Parent); err != nil {
			return false, err
		}
	}
}

// List is that of [lending.Service].
func (r *Room) List(ctx context.Context, call tools.Call, _ lending.List) (lending.Capabilities, error) {
	list, err := r.holdings(ctx, call)
	return viewOf(list), err
}

// holdings are the capabilities that the caller has now.
func (r *Room) holdings(ctx context.Context, call tools.Call) (list []*record, err error) {
	below := ofKey(call.Owner(), "")
	for key, err := range store.Keys(ctx, r.Store, below, "") {
		if err != nil {
			return nil, err
		}
		rec, _, err := r.read(ctx, key[len(below):])
		if errors.Is(err, errUnknown) {
			continue // it went meanwhile
		}
		if err != nil {
			return nil, err
		}
		mine, err := r.has(ctx, call.Authority(), rec)
		if err != nil {
			return nil, err
		}
		if !mine {
			continue
		}
		if _, err := r.stands(ctx, rec); err == nil {
			list = append(list, rec)
		}
	}
	return list, nil
}
