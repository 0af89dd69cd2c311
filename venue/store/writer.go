package store

import "context"

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
