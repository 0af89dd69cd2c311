package store

import (
	"context"
	"iter"
)

// rowsAtOnce is the page of an iteration.
const rowsAtOnce = 256

// Rows goes through the rows below a prefix, from the key from on, page by page. Of a [Space] each
// page is as it was when it was taken, so that a row that is written meanwhile may show or not;
// of a [Snapshot] all are of one moment. It ends with the first error.
func Rows(ctx context.Context, r interface {
	Page(ctx context.Context, prefix, from string, limit int) ([]Row, string, error)
}, prefix, from string,
) iter.Seq2[Row, error] {
	return pages(ctx, r.Page, prefix, from)
}

// Keys is [Rows] without the values.
func Keys(ctx context.Context, r interface {
	PageKeys(ctx context.Context, prefix, from string, limit int) ([]string, string, error)
}, prefix, from string,
) iter.Seq2[string, error] {
	return pages(ctx, r.PageKeys, prefix, from)
}

func pages[T any](ctx context.Context, page func(ctx context.Context, prefix, from string, limit int) ([]T, string, error), prefix, from string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for next := from; ; {
			var items []T
			var err error
			if items, next, err = page(ctx, prefix, next, rowsAtOnce); err != nil {
				yield(*new(T), err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if next == "" {
				return
			}
		}
	}
}
