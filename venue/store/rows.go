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

// CopyBelow copies the rows below prefixes, as all of them are at one moment, to below others:
// prefix by prefix, each in the order of its keys, in as many batches as it takes.
func (s *Space) CopyBelow(ctx context.Context, prefixes ...[2]string) error {
	snap, err := s.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer snap.Close()
	w := NewWriter(s)
	for _, p := range prefixes {
		for row, err := range Rows(ctx, snap, p[0], "") {
			if err != nil {
				return err
			}
			if err := w.Put(ctx, p[1]+row.Key[len(p[0]):], row.Value); err != nil {
				return err
			}
		}
	}
	return w.Flush(ctx)
}

// RemoveBelow removes the rows below a prefix, page by page.
func (s *Space) RemoveBelow(ctx context.Context, prefix string) error {
	for {
		keys, next, err := s.PageKeys(ctx, prefix, "", rowsAtOnce)
		if err != nil || len(keys) == 0 {
			return err
		}
		if _, err := s.Apply(ctx, nil, nil, keys); err != nil || next == "" {
			return err
		}
	}
}

// Writer writes many rows in as many batches as it takes, in the order in which they come. Each key
// comes once. Flush is called last.
type Writer struct {
	to   *Space
	put  map[string][]byte
	del  []string
	size int // of keys and values
}

// NewWriter returns a writer to a space.
func NewWriter(to *Space) *Writer { return &Writer{to: to, put: make(map[string][]byte)} }

// Put writes a row. The value is the store's from then on.
func (w *Writer) Put(ctx context.Context, key string, value []byte) error {
	if err := w.room(ctx, len(key)+len(value)); err != nil {
		return err
	}
	w.put[key] = value
	return nil
}

// Delete removes a row.
func (w *Writer) Delete(ctx context.Context, key string) error {
	if err := w.room(ctx, len(key)); err != nil {
		return err
	}
	w.del = append(w.del, key)
	return nil
}

// room has what came before written where so many bytes more are too much for its batch.
func (w *Writer) room(ctx context.Context, size int) error {
	if w.size+size > MaxApplyBytes || len(w.put)+len(w.del) == MaxApplyKeys {
		if err := w.Flush(ctx); err != nil {
			return err
		}
	}
	w.size += size
	return nil
}

// Flush writes what was not written yet.
func (w *Writer) Flush(ctx context.Context) error {
	_, err := w.to.Apply(ctx, nil, w.put, w.del)
	clear(w.put)
	w.del, w.size = nil, 0
	return err
}
