package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Snapshot reads what a space held at one moment, by the methods of [Space]. Close it with a defer:
// as long as it is open, nothing that it can see is reclaimed. Closing it twice does nothing. One
// snapshot serves one goroutine.
type Snapshot = interface {
	Get(ctx context.Context, key string) (value []byte, rev uint64, err error)
	Page(ctx context.Context, prefix, from string, limit int) (rows []Row, next string, err error)
	PageBack(ctx context.Context, prefix, from string, limit int) (rows []Row, next string, err error)
	PageKeys(ctx context.Context, prefix, from string, limit int) (keys []string, next string, err error)
	Close()
}

// reader is what a space and a snapshot have in common.
type reader struct {
	gate   *gate
	prefix string
	of     *moment // nil: as it is now
}

// moment is the view of a snapshot, nil once that is closed.
type moment struct{ view EngineSnapshot }

var errSnapshotClosed = errors.New("snapshot is closed")

// enter is [gate.enter] for reading.
func (r *reader) enter(ctx context.Context) (View, error) {
	if r.of == nil {
		return r.gate.enter(ctx)
	}
	if r.of.view == nil {
		return nil, errSnapshotClosed
	}
	_, err := r.gate.enter(ctx)
	return r.of.view, err
}

// Get returns the value of key and its revision. A key that does not exist has no value and
// revision 0; that is not an error. The value belongs to the caller.
func (r *reader) Get(ctx context.Context, key string) (value []byte, rev uint64, err error) {
	v, err := r.enter(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer r.gate.leave()
	if value, rev, err = v.Get(r.prefix + key); err != nil {
		return nil, 0, fmt.Errorf("get %q: %w", key, err)
	}
	return value, rev, nil
}

// Page returns the rows whose keys begin with prefix and are not below from, in the order of their
// bytes: limit of them at most, and fewer once they have [MaxPageBytes]. next is where the next
// page begins, "" when nothing follows. An empty from means the first key.
func (r *reader) Page(ctx context.Context, prefix, from string, limit int) (rows []Row, next string, err error) {
	return r.page(ctx, Walk{Prefix: prefix, From: from, Limit: limit})
}

// PageBack is Page downwards: from the key from, or from the last key that begins with prefix when
// from is empty.
func (r *reader) PageBack(ctx context.Context, prefix, from string, limit int) (rows []Row, next string, err error) {
	return r.page(ctx, Walk{Prefix: prefix, From: from, Limit: limit, Back: true})
}

// PageKeys is Page without the values, and none is fetched.
func (r *reader) PageKeys(ctx context.Context, prefix, from string, limit int) (keys []string, next string, err error) {
	rows, next, err := r.page(ctx, Walk{Prefix: prefix, From: from, Limit: limit, Keys: true})
	if err != nil {
		return nil, "", err
	}
	keys = make([]string, len(rows))
	for i, row := range rows {
		keys[i] = row.Key
	}
	return keys, next, nil
}

func (r *reader) page(ctx context.Context, w Walk) ([]Row, string, error) {
	if w.Limit < 1 {
		return nil, "", fmt.Errorf("page of %d rows: ask for 1 or more", w.Limit)
	}
	w.Prefix = r.prefix + w.Prefix
	if w.From != "" {
		w.From = r.prefix + w.From
	}
	v, err := r.enter(ctx)
	if err != nil {
		return nil, "", err
	}
	defer r.gate.leave()
	rows, next, err := v.Page(w)
	if err != nil {
		return nil, "", fmt.Errorf("page %q: %w", w.Prefix, err)
	}
	for i := range rows {
		rows[i].Key = rows[i].Key[len(r.prefix):]
	}
	return rows, strings.TrimPrefix(next, r.prefix), nil
}

// Snapshot opens a view of this moment.
func (s *Space) Snapshot(ctx context.Context) (Snapshot, error) {
	e, err := s.gate.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer s.gate.leave()
	return &snapshot{reader{s.gate, s.prefix, &moment{e.Snapshot()}}}, nil
}

type snapshot struct{ reader }

func (s *snapshot) Close() {
	if s.of.view == nil {
		return
	}
	if _, err := s.gate.enter(context.Background()); err == nil {
		s.of.view.End()
		s.gate.leave()
	}
	s.of.view = nil
}
