package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"usher/venue"
	"usher/venue/server"
)

const noop = `{"operation":"json:merge","input":{"values":[{}]},"wait":true}`

// requests sends a call again and again over connections that stay.
func requests(b *testing.B, url, token string) {
	b.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url+"/api/v1/invoke", strings.NewReader(noop))
			if err != nil {
				b.Error(err)
				return
			}
			req.Header.Set("Authorization", "Bearer "+token)
			req.Header.Set("Content-Type", "application/json")
			resp, err := client.Do(req)
			if err != nil {
				b.Error(err)
				return
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
				b.Error(resp.Status, err)
			}
			_ = resp.Body.Close()
		}
	})
	b.StopTimer()
}

// BenchmarkInvokeBare is a handler that decodes and encodes the same JSON, and does nothing
// else.
func BenchmarkInvokeBare(b *testing.B) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Operation string
			Input     json.RawMessage
			Wait      bool
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"status": "COMPLETE", "output": map[string]any{"result": in.Input}})
	}))
	defer srv.Close()
	requests(b, srv.URL, "x")
}

// BenchmarkInvoke is a call that does nothing, with a token of the venue, through the gate and
// into the ledger.
func BenchmarkInvoke(b *testing.B) {
	v, err := venue.Open(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer v.Close()
	token, err := newToken(b.Context(), v)
	if err != nil {
		b.Fatal(err)
	}
	s, err := server.New(v, nil)
	if err != nil {
		b.Fatal(err)
	}
	srv := httptest.NewServer(s)
	defer srv.Close()
	requests(b, srv.URL, token)
}
