package tools_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"usher/tools/keylock"
)

func TestLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := keylock.New()
		first, waited, err := locks.Lock(t.Context(), "a")
		if waited || err != nil {
			t.Fatalf("the first one waited: %t, %v", waited, err)
		}

		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(gone)
		if held, _, err := locks.Lock(ctx, "a"); !errors.Is(err, gone) {
			t.Errorf("whoever has gone got the lock: %v", err)
		} else {
			held.Unlock() // of none
		}

		var order []int
		for n := range 3 {
			go func() {
				held, waited, err := locks.Lock(t.Context(), "a")
				if !waited || err != nil {
					t.Errorf("%d did not wait: %v", n, err)
				}
				order = append(order, n)
				held.Unlock()
			}()
			synctest.Wait()
		}
		if len(order) != 0 {
			t.Errorf("%v went on while the first one had the lock", order)
		}
		first.Unlock()
		synctest.Wait()
		if len(order) != 3 || order[0] != 0 || order[1] != 1 || order[2] != 2 {
			t.Errorf("they went on as %v", order)
		}
	})
}
