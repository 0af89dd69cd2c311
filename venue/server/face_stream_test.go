package server_test

import (
	"context"
	"errors"
	"iter"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"usher/venue/face"
)

// connection is a recorder whose deadlines can be set.
type connection struct{ *httptest.ResponseRecorder }

func (connection) SetWriteDeadline(time.Time) error { return nil }

// A stream on which nothing comes ends with the right to follow it.
func TestAStreamEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connection{httptest.NewRecorder()}
		began, gone := time.Now(), errors.New("its token has ended")
		still := func(context.Context) error {
			if time.Since(began) > time.Minute {
				return gone
			}
			return nil
		}
		nothing := func(ctx context.Context) iter.Seq2[int, error] {
			return func(func(int, error) bool) { <-ctx.Done() }
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var told error
		err := face.Follow(ctx, face.NewStream(w), still, nothing, func(_ int, err error) error { told = err; return nil })
		if !errors.Is(err, gone) || !errors.Is(told, gone) {
			t.Errorf("Follow() = %v, and tells %v; want %v", err, told, gone)
		}
		if n := strings.Count(w.Body.String(), ": nothing new"); n != 4 {
			t.Errorf("%d comments were sent in a minute", n)
		}
	})
}
