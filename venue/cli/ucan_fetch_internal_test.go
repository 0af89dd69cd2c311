package cli

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"usher/tools/reach"
)

func TestFetch(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/tokens":
			_, _ = w.Write([]byte("token\n"))
		case "/large":
			_, _ = w.Write(bytes.Repeat([]byte("x"), maxTokenFile+1))
		case "/elsewhere":
			http.Redirect(w, r, "/tokens", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	by := server.Client().Transport
	for name, tt := range map[string]struct{ address, want, err string }{
		"tokens":         {server.URL + "/tokens", "token\n", ""},
		"too large":      {server.URL + "/large", "", "larger than 4 MiB"},
		"a redirect":     {server.URL + "/elsewhere", "", "302"},
		"nothing there":  {server.URL + "/gone?key=hidden", "", "404"},
		"not by TLS":     {strings.Replace(server.URL, "https", "http", 1) + "/tokens", "", "https alone"},
		"a local file":   {"file:///etc/passwd", "", "https alone"},
		"no host":        {"https:///tokens", "", "https alone"},
		"nobody answers": {"https://127.0.0.1:1/hidden", "", "127.0.0.1:1"},
	} {
		got, err := fetch(t.Context(), tt.address, by)
		if tt.err == "" && (err != nil || string(got) != tt.want) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, tt.want)
		}
		if tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "hidden")) {
			t.Errorf("%s: %v, want %s", name, err, tt.err)
		}
	}
	if _, err := someTokens(func(name string) ([]byte, error) { return nil, nil }, []string{server.URL + "/hidden", "-"}); err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("no token: %v", err)
	}
	items, err := someTokens(func(name string) ([]byte, error) { return fetch(t.Context(), name, by) }, []string{server.URL + "/tokens?key=hidden"})
	if err != nil || len(items) != 1 || strings.Contains(items[0].Source, "hidden") {
		t.Errorf("tokens are said to be of %+v, %v", items, err)
	}
	if _, err := fetch(t.Context(), server.URL+"/tokens", reach.Transport(fetchTime, false)); !errors.Is(err, reach.ErrPrivate) {
		t.Errorf("a private address: %v", err)
	}
}
