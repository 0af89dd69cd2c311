package server

import (
	"net/http"
	"slices"
	"strings"
)

// What pages of an origin that is let in may send, and read of an answer. They send no
// cookies: whoever calls from a page shows a token.
var (
	corsSends = strings.Join([]string{"Authorization", "Content-Type", "Accept", "Idempotency-Key", "Last-Event-ID", "X-Usher-Ucans", "X-Request-Id", "Mcp-Protocol-Version", "Mcp-Session-Id", "OpenAI-Beta", "OpenAI-Organization", "OpenAI-Project"}, ", ")
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
		h.Set("Access-Control-Allow-Headers", corsSends+ofClient(r.Header.Get("Access-Control-Request-Headers")))
		h.Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
	})
}

// ofClient are the names among those asked for by which OpenAI's client in a page tells of
// itself.
func ofClient(asked string) (list string) {
	for name := range strings.SplitSeq(asked[:min(len(asked), 4<<10)], ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		if rest, is := strings.CutPrefix(name, "x-stainless-"); is && strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz-") == "" {
			list += ", " + name
		}
	}
	return list
}
