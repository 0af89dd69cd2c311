package runs

import (
	"context"
	"strings"

	"usher/tools/fault"
	"usher/ucan"
	"usher/venue/store"
)

// Lose ends all runs that would go on by themselves, for a reason that wraps
// [ErrInterrupted]. Those that wait for somebody stay as they are.
func (b *Book) Lose(ctx context.Context, why error) error {
	for _, marks := range []string{prefix + "open/", prefix + "hold/"} {
		for mark, err := range store.Keys(ctx, b.opts.Store, marks, "") {
			if err != nil {
				return err
			}
			owner, id, _ := strings.Cut(strings.TrimPrefix(mark, marks), "/")
			did, err := ucan.ParseDID(owner)
			if err != nil {
				return err
			}
			rec, err := b.Find(ctx, did, id)
			if fault.Of(err) == fault.NotFound || err == nil && rec.Status != Started && (rec.Status != Waiting || !b.ready(ctx, did, rec.Waits)) {
				continue
			}
			if err == nil {
				err = b.lose(ctx, did, &rec, why)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
