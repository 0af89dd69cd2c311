package venue_test

import (
	"sync/atomic"
	"time"
)

// hands are those of a clock that a test sets while a venue looks at it.
type hands struct{ at atomic.Int64 }

func newHands(at time.Time) *hands {
	h := new(hands)
	h.at.Store(at.UnixNano())
	return h
}

func (h *hands) Now() time.Time      { return time.Unix(0, h.at.Load()).UTC() }
func (h *hands) Add(d time.Duration) { h.at.Add(int64(d)) }
