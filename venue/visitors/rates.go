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
	maxBuckets                  = 8192 // keys that are counted before those at rest are forgotten
)

// rates bounds how often keys come.
type rates struct {
	mu        sync.Mutex
	strangers *rate.Limiter
	buckets   map[string]*rate.Limiter
}

func (r *rates) start() {
	r.strangers, r.buckets = rate.NewLimiter(strangerRate, strangerBurst), make(map[string]*rate.Limiter)
}

// take counts a request of a key that has signed; the empty one is a stranger's.
func (r *rates) take(key string, now time.Time) error {
	if key == "" {
		if !r.strangers.AllowN(now, 1) {
			return refuse(RateLimited, "too many hosts come that nobody here knows: try again in a minute")
		}
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	bucket := r.buckets[key]
	if bucket == nil {
		if len(r.buckets) >= maxBuckets {
			for other, b := range r.buckets {
				if b.TokensAt(now) >= keyBurst {
					delete(r.buckets, other)
				}
			}
		}
		bucket = rate.NewLimiter(keyRate, keyBurst)
		r.buckets[key] = bucket
	}
	if !bucket.AllowN(now, 1) {
		return refuse(RateLimited, "more than %d requests a second come with this key: try again in a moment", keyRate)
	}
	return nil
}
