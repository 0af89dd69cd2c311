package server

import (
	"net/http"
	"slices"
	"strings"
)

// What pages of an origin that is let in may send, and read of an answer. They send no
// cookies: whoever calls from a page shows a token.
var (
	corsSends = strings.Join([]string{"Authorization", "Content-Type", "Accept", "Idempotency-Key", "Last-Event-ID", "X-Usher-Ucans", "X-Request-Id", "Mcp-Protocol-Version", "Mcp-Session-Id"}, ", ")
	corsReads = strings.Join([]string{"Location", "Retry-After", "WWW-Authenticate", "X-Request-Id", "Idempotent-Replayed", "Mcp-Session-Id"}, ", ")
)

// cors lets pages of the origins call from a browser (Fetch, "CORS protocol").
func cors(origins []string, next http.Handler) http.Handler {
	if len(origins) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Add("Vary", "Origin")
		origin := r.Header.Get("Origin")
		if !slices.Contains(origins, origin) {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", corsReads)
		if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
		h.Set("Access-Control-Allow-Headers", corsSends)
		h.Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
	})
}
