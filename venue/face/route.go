package face

import (
	"net/http"

	"usher/tools/fault"
)

// Route has the routes of mux answer a request, and answers itself for what is no route:
// with none, or with the methods that there are, where the path is one of another method.
func Route(mux *http.ServeMux, none error, w http.ResponseWriter, r *http.Request) {
	if _, pattern := mux.Handler(r); pattern != "" {
		mux.ServeHTTP(w, r)
		return
	}
	kept := &recorder{header: make(http.Header)}
	mux.ServeHTTP(kept, r)
	if kept.status != http.StatusMethodNotAllowed {
		Of(none).WriteTo(w)
		return
	}
	allow := kept.header.Get("Allow")
	w.Header().Set("Allow", allow)
	As(http.StatusMethodNotAllowed, fault.New(fault.NoRoute, r.Method+" is not among the methods here: "+allow)).WriteTo(w)
}

// recorder keeps the head of an answer.
type recorder struct {
	header http.Header
	status int
}

func (k *recorder) Header() http.Header         { return k.header }
func (k *recorder) Write(b []byte) (int, error) { return len(b), nil }
func (k *recorder) WriteHeader(status int)      { k.status = status }
