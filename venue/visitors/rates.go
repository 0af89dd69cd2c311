package visitors

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// How often somebody comes: known keys each, and all others together.
const (
	keyRate, keyBurst           = 200, 1000 // requests a second
	strangerRate, strangerBurst = 5, 200
	askRate, askBurst           = 0.1, 30 // times a second that a host has its person told
	maxBuckets                  = 8192    // keys that are counted before those at rest are forgotten
)

// rates bounds how often keys come.
type rates struct {
	strangers *rate.Limiter
	known     buckets
}

func (r *rates) start() {
	r.strangers, r.known = rate.NewLimiter(strangerRate, strangerBurst), newBuckets(keyRate, keyBurst)
}

// take counts a request of a key that has signed; the empty one is a stranger's.
func (r *rates) take(key string, now time.Time) error {
	if key != "" {
		return r.known.take(key, now)
	}
	if !r.strangers.AllowN(now, 1) {
		return refuse(RateLimited, "too many hosts come that nobody here knows: try again in a minute")
	}
	return nil
}

// buckets count by keys.
type buckets struct {
	rate  rate.Limit
	burst int
	mu    *sync.Mutex
	of    map[string]*rate.Limiter
}

func newBuckets(often rate.Limit, burst int) buckets {
	return buckets{often, burst, new(sync.Mutex), make(map[string]*rate.Limiter)}
}

func (b *buckets) take(key string, now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	bucket := b.of[key]
	if bucket == nil {
		if len(b.of) >= maxBuckets {
			for other, o := range b.of {
				if o.TokensAt(now) >= float64(b.burst) {
					delete(b.of, other)
				}
			}
		}
		bucket = rate.NewLimiter(b.rate, b.burst)
		b.of[key] = bucket
	}
	if !bucket.AllowN(now, 1) {
		return refuse(RateLimited, "more than %g a second come by this key or host: try again later", float64(b.rate))
	}
	return nil
}
