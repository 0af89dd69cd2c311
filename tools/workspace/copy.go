package workspace

import (
	"context"
	"errors"
	"fmt"

	"usher/caps"
)

// copy stores at to what lies at from. It takes the value as it is now, so a tree may be copied
// into itself; a write that comes between the reading and the writing is not in the copy. What is
// larger than one value may be is an error.
func (t *Tree) copy(ctx context.Context, fromOwner string, from caps.Resource, toOwner string, to caps.Resource) error {
	out := &sink{limit: batchBytes, short: true}
	rev, err := t.get(ctx, fromOwner, from, out)
	switch {
	case errors.Is(err, errOver):
		return fmt.Errorf("%s is too large to be copied at once: one value may have at most %d bytes of JSON: copy its parts one by one", from, maxValue)
	case err != nil:
		return err
	case rev == 0:
		return fmt.Errorf("source not found: there is nothing at %s", from)
	}
	value, err := parse(out.buf)
	if err != nil {
		return err
	}
	writer := t
	if t.author != nil {
		author, _, err := t.Authors(ctx, fromOwner, from)
		if err != nil {
			return err
		}
		writer = t.by(t.author.And(author))
	}
	return writer.place(ctx, toOwner, to, value, replaces)
}
