package auth

import (
	"cmp"
	"fmt"
	"sync"

	"golang.org/x/time/rate"

	"usher/tools/fault"
)

// defaultGuests is how many requests a second all guests make together.
const defaultGuests = 100

// maxBuckets is how many principals are counted before those are forgotten that are at rest.
const maxBuckets = 4096

// rates bounds how often callers come.
type rates struct {
	most   int // a second, of one principal; 0 is no bound
	guests *rate.Limiter

	mu      sync.Mutex
	buckets map[string]*rate.Limiter
}

func newRates(most, guests int) *rates {
	guests = cmp.Or(guests, defaultGuests)
	return &rates{most: most, guests: rate.NewLimiter(rate.Limit(guests), guests), buckets: make(map[string]*rate.Limiter)}
}

// Take counts a request, or says that too many came.
func (r *Room) Take(id *Identity) error {
	now := r.Now()
	if id.Guest {
		if !r.rates.guests.AllowN(now, 1) {
			return fault.New(fault.RateLimited, fmt.Sprintf("guests make more than %d requests a second together: try again in a moment, or become a user (auth.known in the configuration)", r.rates.guests.Burst()))
		}
		return nil
	}
	if r.rates.most == 0 {
		return nil
	}
	r.rates.mu.Lock()
	defer r.rates.mu.Unlock()
	who := id.Authority.Owner().String()
	bucket := r.rates.buckets[who]
	if bucket == nil {
		if len(r.rates.buckets) >= maxBuckets {
			for other, b := range r.rates.buckets {
				if b.TokensAt(now) >= float64(b.Burst()) {
					delete(r.rates.buckets, other)
				}
			}
		}
		bucket = rate.NewLimiter(rate.Limit(r.rates.most), r.rates.most)
		r.rates.buckets[who] = bucket
	}
	if !bucket.AllowN(now, 1) {
		return fault.New(fault.RateLimited, fmt.Sprintf("you make more than %d requests a second, the most that one user or agent may (auth.requests in the configuration): try again in a moment", r.rates.most))
	}
	return nil
}
