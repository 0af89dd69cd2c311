package visitors

import (
	"context"
	"encoding/binary"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"usher/venue/store/memory"
)

// However many change the same record at once, and however long each takes, all have their turn.
func TestAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.Open()
		defer st.Close()
		r := New(Options{Store: st.Under("")})
		const key, n = "one", 200
		var begun atomic.Int64
		one := func(ctx context.Context) error {
			return r.again(ctx, func(*change) error {
				begun.Add(1)
				raw, rev, err := r.Store.Get(ctx, key)
				if err != nil {
					return err
				}
				time.Sleep(time.Millisecond) // as a signature takes
				var count uint64
				if raw != nil {
					count = binary.BigEndian.Uint64(raw)
				}
				moved, err := r.Store.Apply(ctx, map[string]uint64{key: rev}, map[string][]byte{key: binary.BigEndian.AppendUint64(nil, count+1)}, nil)
				if err == nil && moved != "" {
					err = &staleError{moved}
				}
				return err
			})
		}
		failed := make(chan error, n)
		for range n {
			go func() { failed <- one(t.Context()) }()
		}
		for range n {
			if err := <-failed; err != nil {
				t.Errorf("a change among %d: %v", n, err)
			}
		}
		if raw, _, err := r.Store.Get(t.Context(), key); err != nil || binary.BigEndian.Uint64(raw) != n {
			t.Errorf("%v changes stand, %v, want %d", raw, err, n)
		}
		if begun.Load() != 2*n-1 {
			t.Errorf("%d changes were begun %d times, want twice but for the first", n, begun.Load())
		}

		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(gone)
		if err := r.again(ctx, func(*change) error { return &staleError{key} }); !errors.Is(err, gone) {
			t.Errorf("who has gone waits: %v", err)
		}
	})
}
