package server

import (
	"net/http"

	"usher/tools/fault"
	"usher/venue/face"
)

// maxRequests is how many requests are under way at once where nobody says, streams
// included.
const maxRequests = 4096

var errFull = fault.New(fault.Unavailable, "the venue answers as many requests as it may at once: try again in a moment (server.requests)")

// limit answers no more requests at once than it may, but those that ask how the process
// is.
func (s *Server) limit(next http.Handler) http.Handler {
	places := make(chan struct{}, s.opts.Requests)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" && r.URL.Path != "/readyz" {
			select {
			case places <- struct{}{}:
				defer func() { <-places }()
			default:
				face.Of(errFull).WriteTo(w)
				return
			}
		}
		s.inFlight.Add(1)
		defer s.inFlight.Add(-1)
		next.ServeHTTP(w, r)
	})
}
