package approvals

import (
	"cmp"
	"context"
	"errors"

	"usher/tools"
	"usher/tools/approvals"
)

// Show is that of [approvals.Service].
func (r *Room) Show(ctx context.Context, call tools.Call, in approvals.Ref) (approvals.Request, error) {
	owner, err := in.For(call.Owner())
	if err != nil {
		return approvals.Request{}, err
	}
	rec, _, err := r.find(ctx, owner.String(), in.ID)
	return rec.Request, err
}

// List is that of [approvals.Service].
func (r *Room) List(ctx context.Context, call tools.Call, in approvals.Query) (list approvals.Listing, err error) {
	person, err := in.For(call.Owner())
	if err != nil {
		return list, err
	}
	owner := person.String()
	below := openKey(owner, "")
	if in.All {
		below = requestKey(owner, "")
	}
	from := ""
	if in.Cursor != "" {
		from = below + in.Cursor
	}
	list.Requests = []approvals.Request{}
	keys, next, err := r.Store.PageKeys(ctx, below, from, cmp.Or(in.Limit, 100))
	if err != nil {
		return list, err
	}
	for _, key := range keys {
		rec, _, err := r.find(ctx, owner, key[len(below):])
		if errors.Is(err, context.Canceled) {
			return list, err
		}
		if err == nil && (in.All || rec.Status == approvals.Pending) {
			list.Requests = append(list.Requests, rec.Request)
		}
	}
	if next != "" {
		list.Cursor = next[len(below):]
	}
	return list, nil
}
