package auth

import (
	"cmp"
	"fmt"

	"golang.org/x/time/rate"

	"usher/tools/fault"
	"usher/venue/ratelimit"
)

// defaultGuests is how many requests a second all guests make together.
const defaultGuests = 100

// rates bounds how often callers come.
type rates struct {
	most   int              // a second, of one principal; 0 is no bound
	each   *ratelimit.Table // by principals
	guests *rate.Limiter
}

func newRates(most, guests int) *rates {
	guests = cmp.Or(guests, defaultGuests)
	return &rates{most, ratelimit.New(float64(most), most), rate.NewLimiter(rate.Limit(guests), guests)}
}

// Take counts a request, or says that too many came.
func (r *Room) Take(id *Identity) error {
	now := r.Now()
	switch {
	case id.Guest:
		return r.TakeGuest()
	case r.rates.most != 0 && !r.rates.each.Take(id.Authority.Owner().String(), now):
		return fault.New(fault.RateLimited, fmt.Sprintf("you make more than %d requests a second, the most that one user or agent may (auth.requests in the configuration): try again in a moment", r.rates.most))
	}
	return nil
}

// TakeGuest counts a request of a guest, or of somebody else for whom nobody answers, or says that too
// many came.
func (r *Room) TakeGuest() error {
	if !r.rates.guests.AllowN(r.Now(), 1) {
		return fault.New(fault.RateLimited, fmt.Sprintf("guests make more than %d requests a second together: try again in a moment, or become a user (auth.known in the configuration)", r.rates.guests.Burst()))
	}
	return nil
}
