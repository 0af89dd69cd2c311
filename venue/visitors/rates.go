package visitors

import (
	"time"

	"golang.org/x/time/rate"

	"usher/venue/ratelimit"
)

// How often somebody comes: whoever is known each, and all others together.
const (
	knownRate, knownBurst       = 200, 1000 // requests a second
	strangerRate, strangerBurst = 5, 200
	askRate, askBurst           = 0.1, 30 // times a second that a host has its person told
)

// rates bounds how often hosts and agents come.
type rates struct {
	strangers   *rate.Limiter
	known, asks *ratelimit.Table
}

func newRates() rates {
	return rates{rate.NewLimiter(strangerRate, strangerBurst), ratelimit.New(knownRate, knownBurst), ratelimit.New(askRate, askBurst)}
}

// request counts one of a host or an agent.
func (r *rates) request(name string, now time.Time) error {
	return tooMany(r.known.Take(name, now), knownRate)
}

// ask counts that a host has its person asked.
func (r *rates) ask(host string, now time.Time) error {
	return tooMany(r.asks.Take(host, now), askRate)
}

func tooMany(let bool, often float64) error {
	if let {
		return nil
	}
	return refuse(RateLimited, "more than %g a second come of this agent or host: try again later", often)
}

// stranger counts a request of somebody for whom nobody answers.
func (r *rates) stranger(now time.Time) error {
	if r.strangers.AllowN(now, 1) {
		return nil
	}
	return refuse(RateLimited, "too many hosts come that nobody here knows: try again in a minute")
}
