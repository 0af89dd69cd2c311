package tools_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"usher/tools/pause"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := pause.For(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("For(a minute) = %v after %s", err, time.Since(began))
		}
		stopped := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(stopped) })
		if err := pause.For(ctx, time.Hour); !errors.Is(err, stopped) || time.Since(began) != time.Minute+time.Second {
			t.Errorf("For(an hour), stopped after a second = %v after %s", err, time.Since(began))
		}
	})
}
