package face

import (
	"net/http"

	"usher/tools/fault"
	"usher/venue"
	"usher/venue/auth"
)

// ForgeryHeader and ForgeryField carry what a request of a signed-in person has to bring that changes
// something: the pages of the venue know it, and other sites do not.
const (
	ForgeryHeader = "X-Usher-Forgery"
	ForgeryField  = "forgery"
)

// SessionCookie is the cookie of who has signed in. Over TLS its name says that it is this host's.
func SessionCookie(r *http.Request) string {
	if IsSecure(r) {
		return "__Host-usher-session"
	}
	return "usher-session"
}

// IsSecure reports whether the request came by TLS, to the venue or to a proxy before it.
func IsSecure(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}

// ErrForged says that a request may have been forged by another site.
var ErrForged = fault.New(fault.Refused, "this request does not come from a page of the venue: go back, load the page again, and try once more ("+ForgeryHeader+")")

// BySession returns the person who has signed in at /login.
func (d *Door) BySession(r *http.Request) (*venue.Principal, *auth.PersonSession, error) {
	secret := ""
	if c, err := r.Cookie(SessionCookie(r)); err == nil {
		secret = c.Value
	}
	p, in, err := d.Venue.BySession(r.Context(), secret)
	if err == nil {
		noteCaller(r.Context(), p.DID())
	}
	return p, in, err
}

// Person is [Door.Caller], and beside those who bear tokens the people who have signed in.
func (d *Door) Person(r *http.Request) (*venue.Principal, error) {
	if _, err := r.Cookie(SessionCookie(r)); err != nil || HasBearer(r) {
		return d.Caller(r)
	}
	p, in, err := d.BySession(r)
	if err != nil {
		return nil, err
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead && !in.MayChange(r.Header.Get(ForgeryHeader)) {
		return nil, ErrForged
	}
	return p, nil
}
