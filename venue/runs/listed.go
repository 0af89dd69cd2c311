package runs

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"

	"usher/runtime"
	"usher/tools"
	"usher/venue/store"
)

// Head returns the session of an id in few words; the zero head where there is none.
func (s *Sessions) Head(ctx context.Context, of tools.Life, id string) (Head, error) {
	return s.head(ctx, headKey(of, id), id)
}

func (s *Sessions) head(ctx context.Context, key, id string) (h Head, err error) {
	raw, _, err := s.book.opts.Store.Get(ctx, key)
	if err != nil || raw == nil {
		return h, err
	}
	if err := json.Unmarshal(raw, &h); err != nil {
		return h, fmt.Errorf("read session %s: %w", id, err)
	}
	return h, nil
}

// Heads yields the sessions of a life in the order of their ids.
func (s *Sessions) Heads(ctx context.Context, of tools.Life) iter.Seq2[Head, error] {
	return func(yield func(Head, error) bool) {
		for row, err := range store.Rows(ctx, s.book.opts.Store, headPrefix(of), "") {
			var h Head
			if err == nil {
				err = json.Unmarshal(row.Value, &h)
			}
			if !yield(h, err) || err != nil {
				return
			}
		}
	}
}

// Page returns at most limit sessions of a life, the last by their ids first: that is the
// one that began last, where the venue named them. It begins before an id, if that is given.
// more is where the next page begins; empty when nothing follows.
func (s *Sessions) Page(ctx context.Context, of tools.Life, before string, limit int) (list []Head, more string, err error) {
	all, from := headPrefix(of), ""
	if before != "" {
		from = all + before
	}
	rows, next, err := s.book.opts.Store.PageBack(ctx, all, from, limit+1)
	if err != nil {
		return nil, "", err
	}
	for _, row := range rows {
		if row.Key == from {
			continue
		}
		if len(list) == limit {
			return list, list[limit-1].ID, nil
		}
		var h Head
		if err := json.Unmarshal(row.Value, &h); err != nil {
			return nil, "", fmt.Errorf("read session %s: %w", row.Key[len(all):], err)
		}
		list = append(list, h)
	}
	if next != "" && len(list) > 0 {
		more = list[len(list)-1].ID
	}
	return list, more, nil
}

// Count returns how many sessions a life has, and how many messages wait in them,
// without reading the heads.
func (s *Sessions) Count(ctx context.Context, of tools.Life) (sessions, waiting int, err error) {
	for _, err := range store.Keys(ctx, s.book.opts.Store, headPrefix(of), "") {
		if err != nil {
			return 0, 0, err
		}
		sessions++
	}
	for row, err := range store.Rows(ctx, s.book.opts.Store, waitPrefix(of), "") {
		var n int
		if err == nil {
			n, err = strconv.Atoi(string(row.Value))
		}
		if err != nil {
			return 0, 0, err
		}
		waiting += n
	}
	return sessions, waiting, nil
}

// Entries yields the log of a session from the number from on.
func (s *Sessions) Entries(ctx context.Context, of tools.Life, id string, from uint64) iter.Seq2[runtime.Entry, error] {
	return func(yield func(runtime.Entry, error) bool) {
		for row, err := range store.Rows(ctx, s.book.opts.Store, entryPrefix(of, id), entryKey(of, id, from)) {
			var e runtime.Entry
			if err == nil {
				err = json.Unmarshal(row.Value, &e)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// tailPage is how many events Tail looks at at once.
const tailPage = 64

// Tail is the number of the event behind which the last ones of a session lie: at most so many,
// of at most so many bytes as they are stored.
func (s *Sessions) Tail(ctx context.Context, of tools.Life, id string, most, size int) (after uint64, err error) {
	below := entryPrefix(of, id)
	for from := ""; ; {
		rows, next, err := s.book.opts.Store.PageBack(ctx, below, from, tailPage)
		if err != nil {
			return 0, err
		}
		for _, row := range rows {
			most, size = most-1, size-len(row.Value)
			if most < 0 || size < 0 {
				return binary.BigEndian.Uint64([]byte(row.Key[len(below):])), nil
			}
		}
		if from = next; from == "" {
			return 0, nil
		}
	}
}

// Copy lets another life begin with the sessions of one: the entries before the
// heads, by which they are found.
func (s *Sessions) Copy(ctx context.Context, from, to tools.Life) error {
	return s.book.opts.Store.CopyBelow(ctx,
		[2]string{entriesOf(from), entriesOf(to)}, [2]string{waitPrefix(from), waitPrefix(to)}, [2]string{headPrefix(from), headPrefix(to)})
}

// Remove removes the sessions of a life: a turn that still runs writes into a past
// that nobody reads.
func (s *Sessions) Remove(ctx context.Context, of tools.Life) error {
	s.forget(of)
	for _, below := range [...]func(tools.Life) string{headPrefix, waitPrefix, entriesOf} {
		if err := s.book.opts.Store.RemoveBelow(ctx, below(of)); err != nil {
			return err
		}
	}
	return nil
}
