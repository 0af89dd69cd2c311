// Package ratelimit bounds how often each of many comes, by a key: [Table.Take] says whether one more is
// let in.
package ratelimit

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxKeys is how many keys are counted before those are forgotten that are at rest.
const maxKeys = 8192

// Table counts by keys. It is safe for concurrent use.
type Table struct {
	often rate.Limit
	burst int

	mu sync.Mutex
	of map[string]*rate.Limiter
}

// New returns a table that lets each key in so many times a second, and up to burst times at once.
func New(often float64, burst int) *Table {
	return &Table{often: rate.Limit(often), burst: burst, of: make(map[string]*rate.Limiter)}
}

// Take counts a key once, and reports whether it does not come too often.
func (t *Table) Take(key string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.of[key]
	if one == nil {
		if len(t.of) >= maxKeys {
			t.forget(now)
		}
		one = rate.NewLimiter(t.often, t.burst)
		t.of[key] = one
	}
	return one.AllowN(now, 1)
}

// forget forgets the keys that have all of their burst again.
func (t *Table) forget(now time.Time) {
	for key, one := range t.of {
		if one.TokensAt(now) >= float64(t.burst) {
			delete(t.of, key)
		}
	}
}
