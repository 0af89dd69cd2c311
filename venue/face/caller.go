package face

import (
	"net/http"
	"strings"

	"usher/venue"
	"usher/venue/auth"
)

// ProofsHeader carries tokens that delegate something to the caller, between commas.
const ProofsHeader = "X-Usher-Ucans"

// Door lets callers of a venue in.
type Door struct {
	Venue   *venue.Venue
	Streams Streams  // that callers follow
	Origins []string // whose pages may call from a browser, beside the venue's own
	Hosts   []string // names by which a proxy on this machine asks for the venue
}

// HasBearer reports whether a request says who makes it, by what may prove nothing: also a header
// without a text, which makes nobody anonymous.
func HasBearer(r *http.Request) bool { return len(r.Header.Values("Authorization")) > 0 }

// Caller is who makes the request. A bearer that proves nothing is an error, and nobody is
// anonymous with it.
func (d *Door) Caller(r *http.Request) (*venue.Principal, error) {
	p, err := d.caller(r)
	if err == nil {
		noteCaller(r.Context(), p.DID())
	}
	return p, err
}

func (d *Door) caller(r *http.Request) (*venue.Principal, error) {
	sent := r.Header.Values("Authorization")
	if len(sent) == 0 {
		p, err := d.Venue.Anonymous(r.Context())
		if err != nil {
			return nil, err
		}
		return p, d.nameless(r)
	}
	if len(sent) > 1 {
		return nil, &auth.Refusal{Reason: "the request has several headers Authorization: send one"}
	}
	scheme, token, _ := strings.Cut(sent[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return nil, &auth.Refusal{Reason: "the scheme of Authorization is not Bearer"}
	}
	return d.Venue.Authenticate(r.Context(), strings.TrimSpace(token), proofs(r)...)
}

func proofs(r *http.Request) (list []string) {
	for _, value := range r.Header.Values(ProofsHeader) {
		for proof := range strings.SplitSeq(value, ",") {
			if proof = strings.TrimSpace(proof); proof != "" {
				list = append(list, proof)
			}
		}
	}
	return list
}
