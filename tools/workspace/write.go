package workspace

import (
	"context"
	"errors"

	"usher/caps"
)

// Put stores value at r, and makes the maps that are missing on the way. value is raw JSON
// (json.RawMessage) or anything that encoding/json takes. Writing below a scalar or beyond the end
// of an array is an error.
func (t *Tree) Put(ctx context.Context, owner string, r caps.Resource, value any) error {
	owner, segs, err := locateKey(owner, r)
	if err != nil {
		return err
	}
	v, err := normal(value)
	if err != nil {
		return err
	}
	return t.place(ctx, owner, segs, v, (*edit).set)
}

// Append adds value to the end of the array at r, which is made when there is nothing.
func (t *Tree) Append(ctx context.Context, owner string, r caps.Resource, value any) error {
	owner, segs, err := locateKey(owner, r)
	if err != nil {
		return err
	}
	v, err := normal(value)
	if err != nil {
		return err
	}
	return t.place(ctx, owner, segs, v, (*edit).add)
}

// place builds the value v where it may be large, and runs step with it until it wins.
func (t *Tree) place(ctx context.Context, owner string, segs []string, v any, step func(*edit, context.Context, any) (bool, error)) error {
	item := v
	if segs[0] != "o" {
		b, err := t.build(ctx, v)
		if err != nil {
			return err
		}
		defer t.release(b)
		item = b
	}
	return t.link(ctx, owner, segs, item, step)
}

func (t *Tree) link(ctx context.Context, owner string, segs []string, item any, step func(*edit, context.Context, any) (bool, error)) error {
	return t.retry(ctx, owner, segs, func() (bool, error) {
		e, err := t.begin(ctx, owner, segs)
		if err != nil {
			return false, err
		}
		done, err := step(e, ctx, item)
		if errors.Is(err, errMoved) {
			return false, nil
		}
		return done, err
	})
}

// Delete removes what lies at r; in an array it leaves null. Nothing there is no error.
func (t *Tree) Delete(ctx context.Context, owner string, r caps.Resource) error {
	owner, segs, err := locateKey(owner, r)
	if err != nil {
		return err
	}
	return t.link(ctx, owner, segs, nil, (*edit).remove)
}
