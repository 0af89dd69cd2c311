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
	keyRate, keyBurst           = 0.1, 30 // keys a second that a host and its agents get: what each ends stays for good
)

// rates bounds how often hosts and agents come.
type rates struct {
	strangers         *rate.Limiter
	known, asks, keys *ratelimit.Table
}

func newRates() rates {
	return rates{rate.NewLimiter(strangerRate, strangerBurst), ratelimit.New(knownRate, knownBurst), ratelimit.New(askRate, askBurst), ratelimit.New(keyRate, keyBurst)}
}

// request counts one of a host or an agent.
func (r *rates) request(name string, now time.Time) error {
	return tooMany(r.known.Take(name, now), knownRate)
}

// ask counts that a host has its person asked.
func (r *rates) ask(host string, now time.Time) error {
	return tooMany(r.asks.Take(host, now), askRate)
}

// key counts another key of a host, or of an agent of it.
func (r *rates) key(host string, now time.Time) error {
	return tooMany(r.keys.Take(host, now), keyRate)
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
