package rest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Route is a route, for tests of all of them.
type Route struct{ Method, Path, Op string }

// Routes lists the routes.
func Routes() (list []Route) {
	for _, rt := range routes {
		list = append(list, Route{rt.method, rt.path, rt.op})
	}
	return list
}

// InputOf is the input of the operation that a route is, for a request.
func InputOf(t *testing.T, of Route, path, body string) (input json.RawMessage) {
	t.Helper()
	f, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range routes {
		if rt := &routes[i]; rt.method == of.Method && rt.path == of.Path {
			mux := http.NewServeMux()
			mux.HandleFunc(rt.method+" "+rt.path, func(w http.ResponseWriter, r *http.Request) { input, err = rt.input(f, w, r) })
			mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), of.Method, path, strings.NewReader(body)))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return input
}
